import { Refusal } from '../base/refusal.ts';
import { z } from 'zod';
import { normalizeEmail } from '../base/address.ts';
import { CARRYING_CHANNELS, DEFAULT_CHANNEL, Channel } from '../base/channel.ts';
import { newId } from '../base/ids.ts';
import { groupAddress } from '../inbox/group.ts';
import { Effect } from './effect.ts';
import { CRM_FIELDS, CrmIds, type MessageInput } from './message.ts';
import { contactKey } from '../base/contact-key.ts';
import { normalizePhone } from '../base/phone.ts';
import {
  firstSendTime,
  type PhonePlace,
  quietHoursApplyTo,
  type WakingHours,
  type QuietPolicy,
  wakingHours,
} from '../sending/quiet-hours.ts';
import { clampToWindow, SendWindow } from '../sending/send-window.ts';
import { isBlank } from '../base/text.ts';

/** The `source` of messages from `POST /api/drip`. */
export const DRIP_SOURCE = 'crm-drip';

/** The `source` of texts that a rule sends. */
export const RULE_SOURCE = 'rule';

/** The `source` of texts that were written in a connected CRM. */
export const CRM_SOURCE = 'crm';

/** The `source` of messages that answer nobody, even if they belong to no campaign. */
export const UNWRITTEN_SOURCES = [DRIP_SOURCE, RULE_SOURCE];

/** The `source` of messages that a member wrote, or approved. */
export const MEMBER_SOURCES = ['inbox', 'device', 'ai-draft'];

/** Whether a member wrote or approved it, and not a program. */
export const isByMember = ({ source }: { source: string }): boolean => MEMBER_SOURCES.includes(source);

/** Whether somebody wrote this one message. Steps of campaigns, drips and automatic texts answer nobody. */
export const isWritten = ({ source, campaignId }: { source: string; campaignId: string | null }): boolean =>
  campaignId === null && !UNWRITTEN_SOURCES.includes(source);

/** An accepted message, complete except for its line. */
export const AcceptedMessage = z.object({
  id: z.string(),
  channel: Channel,
  pinnedLineId: z.string().nullable(),
  poolId: z.string().nullable(),
  eligibleLineIds: z.array(z.string()).nullable(),
  stickinessPolicy: z.enum(['sticky', 'round_robin']),
  address: z.string(),
  recipientPhone: z.string().nullable(),
  recipientEmail: z.string().nullable(),
  recipientName: z.string().nullable(),
  leadId: z.string().nullable(),
  body: z.string(),
  subject: z.string().nullable(),
  attachmentUrls: z.array(z.string()),
  attachmentNames: z.array(z.string()),
  voiceNote: z.boolean(),
  replyToId: z.string().nullable(),
  effect: Effect.nullable(),
  cancelIfReply: z.boolean(),
  scheduledAt: z.iso.datetime(),
  window: SendWindow.nullable(),
  sendFallbackSmsOnFailed: z.boolean(),
  smsFallbackEnabled: z.boolean(),
  smsFallbackMessage: z.string().nullable(),
  forceFallback: z.boolean(),
  source: z.string(),
  correlationId: z.string().nullable(),
  traceId: z.string().nullable(),
  batchId: z.string().nullable(),
  stepIndex: z.int().nullable(),
  crm: CrmIds,
  createdByUserId: z.string().nullable(),
});
export type AcceptedMessage = z.infer<typeof AcceptedMessage>;

export interface IntakeLead {
  id: string;
  name: string;
  phones: string[];
  emails: string[];
  timezone: string | null;
}

/** The workspace's data that requests refer to, loaded once for a batch of requests. */
export interface IntakeContext {
  timezone: string;
  country: string;
  quiet: QuietPolicy;
  /** The place of a message's recipient. */
  placeOf(recipient: { address: string; recipientPhone: string | null }): PhonePlace;
  leads: ReadonlyMap<string, IntakeLead>;
  /** The time zones of leads, by their addresses, for requests that name no lead. Empty if quiet hours do not apply to the requests. */
  zones: ReadonlyMap<string, string>;
  /** Until when messages to contacts are answers, by address. Known for drips to which quiet hours apply, otherwise empty. */
  answersUntil: ReadonlyMap<string, Date>;
  /** Those of the pools that requests name, with the channels of their usable lines. */
  pools: ReadonlyMap<string, readonly Channel[]>;
  /** All lines of the workspace. A request may name any of them; only `usable` ones are chosen automatically. */
  lines: readonly { id: string; channel: Channel; usable: boolean }[];
  fallbackConfigured: boolean;
  /** Those of the requests' attachment URLs that are uploads of this workspace. */
  ownAttachments: ReadonlySet<string>;
}

/** The group to which a message is sent, and where its participants are. */
export interface AddressedGroup {
  id: string;
  place: PhonePlace;
}

/**
 * Validates a request and builds its message.
 * @param schedule the earliest time to send it, before its send window is applied.
 * @param group to which it is sent, instead of the recipient that the request names; null: to that.
 * @throws Refusal when the request breaks a rule.
 */
export function acceptedMessageOf(
  input: MessageInput,
  known: IntakeContext,
  {
    now,
    source,
    schedule,
    userId,
    group = null,
  }: { now: Date; source: string; schedule: Date; userId: string | null; group?: AddressedGroup | null },
): AcceptedMessage {
  const context = group ? { ...known, placeOf: () => group.place } : known;
  const channel = input.messageType ?? DEFAULT_CHANNEL;
  checkContent(input, context);
  if (schedule > latestSchedule(now))
    throw new Refusal('VALIDATION_ERROR', 'scheduledDate', 'must be within one year');
  const recipient = group ? recipientOfGroup(group) : findRecipient(input, channel, context);
  checkFallback(input, context);
  checkLines(input, channel, context);
  const window = sendWindow(input, context.timezone);
  const earliest = schedule > now ? schedule : now;
  checkTimes(input, { ...recipient, window, source }, context, earliest);
  return {
    ...withDefaults(input),
    ...recipient,
    id: newId(now),
    channel,
    scheduledAt: clampToWindow(window ?? undefined, earliest).toISOString(),
    window,
    source,
    createdByUserId: userId,
  };
}

/** The fields that a request may leave out. */
const withDefaults = (input: MessageInput) => ({
  body: input.message ?? '',
  subject: input.subject ?? null,
  attachmentUrls: input.attachmentUrls ?? [],
  attachmentNames: input.attachmentNames ?? [],
  voiceNote: input.voiceNote ?? false,
  replyToId: input.replyToMessageId ?? null,
  effect: input.effect ?? null,
  cancelIfReply: false,
  pinnedLineId: input.fromLineId ?? null,
  eligibleLineIds: input.eligibleLineIds ?? null,
  poolId: input.poolId ?? null,
  stickinessPolicy: input.stickinessPolicy ?? ('round_robin' as const),
  sendFallbackSmsOnFailed: input.sendFallbackSmsOnFailed ?? false,
  smsFallbackEnabled: input.smsFallbackEnabled ?? false,
  smsFallbackMessage: input.smsFallbackMessage ?? null,
  forceFallback: input.forceFallback ?? false,
  correlationId: input.correlationId ?? null,
  traceId: input.traceId ?? null,
  batchId: input.batchId ?? null,
  stepIndex: input.stepIndex ?? null,
  crm: Object.fromEntries(
    CRM_FIELDS.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]])),
  ),
});

function checkContent({ message = '', attachmentUrls = [] }: MessageInput, context: IntakeContext): void {
  if (isBlank(message) && attachmentUrls.length === 0)
    throw new Refusal('VALIDATION_ERROR', 'message', 'a message or attachmentUrls is required');
  const unknown = attachmentUrls.findIndex((url) => !context.ownAttachments.has(url));
  if (unknown !== -1) {
    throw new Refusal(
      'VALIDATION_ERROR',
      `attachmentUrls.${unknown}`,
      'must be an upload of this workspace (POST /api/attachments/upload)',
    );
  }
}

function checkFallback(
  { sendFallbackSmsOnFailed = false, forceFallback = false }: MessageInput,
  { fallbackConfigured }: IntakeContext,
): void {
  if (fallbackConfigured || !(sendFallbackSmsOnFailed || forceFallback)) return;
  throw new Refusal(
    'FALLBACK_NOT_CONFIGURED',
    sendFallbackSmsOnFailed ? 'sendFallbackSmsOnFailed' : 'forceFallback',
    'needs an SMS fallback: configure it at PATCH /api/workspace/fallback-config',
  );
}

/** One calendar year ahead, plus a minute of tolerance for the caller's clock. */
function latestSchedule(now: Date): Date {
  const latest = new Date(now.getTime() + 60_000);
  latest.setUTCFullYear(latest.getUTCFullYear() + 1);
  return latest;
}

type Recipient = Pick<
  AcceptedMessage,
  'address' | 'recipientPhone' | 'recipientEmail' | 'recipientName' | 'leadId'
>;

/** The addresses of the contact that a request names (`contactKey`). */
export const namedAddresses = (
  { recipientPhone = '', recipientEmail = '' }: MessageInput,
  country: string,
): string[] =>
  [normalizePhone(recipientPhone, country), normalizeEmail(recipientEmail)].flatMap((address) =>
    address === null ? [] : contactKey(address),
  );

const recipientOfGroup = ({ id }: AddressedGroup): Recipient => ({
  address: groupAddress(id),
  recipientPhone: null,
  recipientEmail: null,
  recipientName: null,
  leadId: null,
});

function findRecipient(input: MessageInput, channel: Channel, context: IntakeContext): Recipient {
  const lead = input.leadId === undefined ? undefined : context.leads.get(input.leadId);
  if (input.leadId !== undefined && !lead)
    throw new Refusal('NOT_FOUND', 'leadId', 'no such lead in this workspace');
  const phone = normalizeRecipient(
    input.recipientPhone,
    'recipientPhone',
    (text) => normalizePhone(text, context.country),
    'must be a phone number',
  );
  const email = normalizeRecipient(
    input.recipientEmail,
    'recipientEmail',
    normalizeEmail,
    'must be an email address',
  );
  const recipientPhone = phone ?? lead?.phones[0] ?? null;
  const recipientEmail = email ?? lead?.emails[0] ?? null;
  const address = {
    // iMessage can reach an email address. A phone number is preferred, unless the request names only an address.
    imessage: phone ?? email ?? recipientPhone ?? recipientEmail,
    sms: recipientPhone,
    email: recipientEmail,
  }[channel];
  if (address === null) {
    const field = channel === 'email' ? 'recipientEmail' : 'recipientPhone';
    throw new Refusal(
      'VALIDATION_ERROR',
      field,
      'a recipient is required: recipientPhone, recipientEmail, or a leadId with contact details for this channel',
    );
  }
  return {
    address: contactKey(address),
    recipientPhone,
    recipientEmail,
    recipientName: input.recipientName ?? (lead && lead.name !== '' ? lead.name : null),
    leadId: lead?.id ?? null,
  };
}

function normalizeRecipient(
  text: string | undefined,
  field: string,
  normalize: (text: string) => string | null,
  message: string,
): string | null {
  if (text === undefined || text.trim() === '') return null;
  const normalized = normalize(text);
  if (normalized === null) throw new Refusal('VALIDATION_ERROR', field, message);
  return normalized;
}

function checkLines(input: MessageInput, channel: Channel, { lines, pools }: IntakeContext): void {
  const carrying = CARRYING_CHANNELS[channel];
  if (input.poolId !== undefined) {
    for (const field of ['fromLineId', 'eligibleLineIds'] as const)
      if (input[field] !== undefined)
        throw new Refusal('VALIDATION_ERROR', field, 'cannot be combined with poolId');
    const channels = pools.get(input.poolId);
    if (!channels) throw new Refusal('NOT_FOUND', 'poolId', 'no such pool in this workspace');
    if (!channels.some((of) => carrying.includes(of)))
      throw new Refusal('NO_ACTIVE_LINE', 'poolId', `the pool has no active line for ${channel}`);
    return;
  }
  if (input.fromLineId !== undefined) {
    const line = lines.find(({ id }) => id === input.fromLineId);
    if (!line) throw new Refusal('NOT_FOUND', 'fromLineId', 'no such line in this workspace');
    if (!carrying.includes(line.channel)) {
      throw new Refusal(
        'VALIDATION_ERROR',
        'fromLineId',
        `is a line for ${line.channel} and cannot send ${channel}`,
      );
    }
    return;
  }
  const eligible = input.eligibleLineIds;
  const unknown = eligible?.findIndex((id) => !lines.some((line) => line.id === id)) ?? -1;
  if (unknown !== -1)
    throw new Refusal('NOT_FOUND', `eligibleLineIds.${unknown}`, 'no such line in this workspace');
  const usable = lines.some(
    (line) => line.usable && carrying.includes(line.channel) && (eligible?.includes(line.id) ?? true),
  );
  if (!usable) {
    throw new Refusal(
      'NO_ACTIVE_LINE',
      'fromLineId',
      `the workspace has no active line for ${channel}: name a line or activate one`,
    );
  }
}

/** The hours in which the recipient of a message may get it; undefined: quiet hours do not apply to it. */
export function recipientHours(
  {
    source,
    leadId,
    ...recipient
  }: Pick<Recipient, 'address' | 'recipientPhone' | 'leadId'> & { source: string },
  { quiet, leads, zones: zonesByAddress, timezone, placeOf }: IntakeContext,
): WakingHours | undefined {
  const kind = source === DRIP_SOURCE ? 'drip' : 'message';
  if (!quietHoursApplyTo(quiet, kind)) return undefined;
  const { zones, region } = placeOf(recipient);
  const home = leadId === null ? zonesByAddress.get(recipient.address) : leads.get(leadId)?.timezone;
  return wakingHours(quiet, { kind, campaignId: null, zones: home ? [home] : zones, region }, timezone);
}

/** A message that could never be sent is refused: its window, or one zone of the number, excludes the waking hours of the others. */
function checkTimes(
  { recipientPhone }: MessageInput,
  { window, ...recipient }: Recipient & { window: SendWindow | null; source: string },
  context: IntakeContext,
  earliest: Date,
): void {
  const hours = recipientHours(recipient, context);
  if (!hours || (!window && hours.zones.length === 1)) return;
  if (firstSendTime({ window: window ?? undefined, quiet: hours }, earliest) !== null) return;
  const times = `the quiet hours allow messages from ${hours.start} to ${hours.end} ${hours.zones.join(', ')}`;
  if (!window)
    throw new Refusal(
      'VALIDATION_ERROR',
      recipientPhone === undefined ? 'leadId' : 'recipientPhone',
      `may be in several time zones, which are never all awake: ${times}`,
    );
  throw new Refusal(
    'VALIDATION_ERROR',
    window.start === undefined && window.end === undefined ? 'allowedDaysOfWeek' : 'sendWindowStart',
    `never opens while the recipient is awake: ${times}`,
  );
}

type WindowInput = Pick<MessageInput, 'sendWindowStart' | 'sendWindowEnd' | 'allowedDaysOfWeek'>;

export const hasSendWindow = ({ sendWindowStart, sendWindowEnd, allowedDaysOfWeek }: WindowInput): boolean =>
  sendWindowStart !== undefined || sendWindowEnd !== undefined || allowedDaysOfWeek !== undefined;

export function sendWindow(
  input: WindowInput & Pick<MessageInput, 'timezone'>,
  workspaceTimezone: string,
): SendWindow | null {
  if (!hasSendWindow(input)) return null;
  const { sendWindowStart: start, sendWindowEnd: end, allowedDaysOfWeek: days } = input;
  return {
    timezone: input.timezone ?? workspaceTimezone,
    ...(start !== undefined && { start }),
    ...(end !== undefined && { end }),
    ...(days !== undefined && { days }),
  };
}
