import { z } from 'zod';
import { AuditEntry } from '../accounts/audit.ts';
import { wallClock } from '../base/calendar.ts';
import { Channel } from '../base/channel.ts';
import { contactKey } from '../base/contact-key.ts';
import { Id, WorkspaceId } from '../base/ids.ts';
import { DraftSource, ApprovalChannel } from '../events/ai-draft.ts';
import { MessageStatus } from '../messages/message-status.ts';
import {
  firstSendTime,
  type QuietPolicy,
  type Recipient,
  type WakingHours,
  wakingHours,
} from '../sending/quiet-hours.ts';
import type { SendWindow } from '../sending/send-window.ts';
import { Consent } from './consent.ts';
import { OptOutSource } from './opt-out.ts';
import { Seal } from './record-seal.ts';

const At = z.iso.datetime();

const Hours = z.object({
  start: z.string(),
  end: z.string(),
  law: z
    .string()
    .nullable()
    .meta({ description: 'The state whose law also applied; `US`: only federal law.' }),
});

const Released = z.object({
  at: At.meta({ description: 'When it was given to its carrier.' }),
  attemptId: Id,
  carrier: z.string(),
  local: z
    .array(z.object({ timezone: z.string(), time: z.string() }))
    .meta({ description: 'That time in each zone where the recipient may be: `2026-12-24 10:00`.' }),
  rule: z.enum(['quiet_hours', 'answer', 'none', 'outside_current_quiet_hours']).meta({
    description:
      '`quiet_hours`: it was within the hours in which the recipient may get messages. `answer`: the recipient had written within ' +
      '24 hours, so quiet hours did not apply. `none`: no quiet hours apply to such a message. `outside_current_quiet_hours`: by ' +
      'the hours of today it would have waited; see `rulesChangedAt`.',
  }),
  quietHours: Hours.nullable(),
  window: z
    .object({
      timezone: z.string(),
      start: z.string().optional(),
      end: z.string().optional(),
      days: z.array(z.int()).optional(),
    })
    .nullable()
    .meta({ description: 'Its own send window.' }),
  rulesChangedAt: At.nullable().meta({
    description: 'When quiet hours were changed after it was sent. The rule is then that of today.',
  }),
  delays: z
    .array(z.object({ at: At, from: At, to: At, reason: z.string() }))
    .meta({ description: 'What delayed it before, of the last 30 days.' }),
});

const EvidenceMessage = z.object({
  messageId: Id,
  channel: Channel,
  from: z.string().nullable().meta({
    description:
      'The number or address of its line, as it is now; null: it has no line, or the line is gone.',
  }),
  to: z.string(),
  lineId: Id.nullable(),
  status: MessageStatus,
  text: z.string(),
  subject: z.string().nullable(),
  attachmentNames: z.array(z.string()),
  acceptedAt: At,
  wrote: z
    .object({
      source: z.string(),
      userId: z.string().nullable(),
      name: z.string().nullable(),
      campaignId: Id.nullable(),
      draftSource: DraftSource.nullable(),
      model: z.string().nullable(),
    })
    .meta({ description: 'Who wrote it: a person, a campaign, a program, or for a draft, who drafted it.' }),
  approved: z
    .object({ by: z.string().nullable(), channel: ApprovalChannel.nullable(), at: At.nullable() })
    .nullable()
    .meta({ description: 'Who approved the draft; null: it was none.' }),
  released: Released.nullable().meta({ description: 'null: no carrier has accepted it.' }),
  sentAt: At.nullable(),
  deliveredAt: At.nullable(),
  readAt: At.nullable(),
  editedAt: At.nullable(),
  unsentAt: At.nullable(),
  errorMessage: z.string().nullable(),
  seal: Seal.nullable().meta({
    description: 'null: no carrier has accepted it, or the attempt is no longer kept.',
  }),
});
export type EvidenceMessage = z.infer<typeof EvidenceMessage>;

const EvidenceOptOut = z.object({
  consentId: Id,
  address: z.string(),
  at: At,
  source: OptOutSource,
  text: z.string().nullable().meta({ description: 'What the contact wrote.' }),
  endedAt: At.nullable().meta({ description: 'When the contact opted in again.' }),
  messagesAfter: z.int().meta({ description: 'Messages that left after the opt-out, until it ended.' }),
  secondsUntilNothingLeft: z
    .number()
    .meta({ description: 'From the opt-out to the last message that left after it; 0: none did.' }),
});

/** What proves how a contact was treated. */
export const Evidence = z
  .object({
    success: z.literal(true),
    generatedAt: At,
    workspaceId: WorkspaceId,
    workspaceName: z.string(),
    leadId: Id,
    name: z.string(),
    addresses: z.array(z.string()),
    timezone: z.string(),
    consents: z.array(Consent.extend({ seal: Seal })).meta({ description: 'Oldest first.' }),
    optOuts: z.array(EvidenceOptOut),
    messages: z.array(EvidenceMessage).meta({ description: 'Oldest first.' }),
    truncated: z.boolean().meta({ description: 'Older messages were left out.' }),
    audit: z.array(AuditEntry.extend({ seal: Seal })).meta({
      description: 'What the audit log says about the contact, its messages and their drafts. Oldest first.',
    }),
    verification: z.object({
      result: z.enum(['intact', 'incomplete', 'changed']).meta({
        description:
          '`changed`: something is not what was recorded. `incomplete`: something has no seal although it should.',
      }),
      counts: z.record(Seal.shape.state, z.int()),
      chainPosition: z.int().meta({ description: "The number of seals in the workspace's chain." }),
      chainHash: z.string().nullable().meta({
        description:
          'The hash of the last seal: whoever notes it can show later that nothing before it was exchanged.',
      }),
    }),
  })
  .meta({ id: 'Evidence' });
export type Evidence = z.infer<typeof Evidence>;

/** `2026-12-24 10:00` on the clocks of a zone. */
const localTime = (timezone: string, at: Date): string =>
  wallClock(timezone, at).toISOString().slice(0, 16).replace('T', ' ');

/** A message that was given to its carrier. */
export interface ReleasedMessage {
  at: Date;
  recipient: Recipient;
  window?: SendWindow;
  /** The recipient had written within 24 hours. */
  isAnswer: boolean;
}

/** The rule by which a message might be sent at the local time of its recipient, by the settings of today. */
export function releaseRule(
  { at, recipient, window, isAnswer }: ReleasedMessage,
  { quiet: policy, timezone }: { quiet: QuietPolicy; timezone: string },
): Pick<z.infer<typeof Released>, 'local' | 'rule' | 'quietHours' | 'window'> {
  const quiet = wakingHours(policy, recipient, timezone);
  const zones = recipient.zones ?? [timezone];
  return {
    local: zones.map((zone) => ({ timezone: zone, time: localTime(zone, at) })),
    rule: ruleOf(quiet, isAnswer, at),
    quietHours: quiet && !isAnswer ? { start: quiet.start, end: quiet.end, law: quiet.law } : null,
    window: window
      ? {
          timezone: window.timezone,
          ...(window.start !== undefined && { start: window.start }),
          ...(window.end !== undefined && { end: window.end }),
          ...(window.days && { days: [...window.days] }),
        }
      : null,
  };
}

function ruleOf(
  quiet: WakingHours | undefined,
  isAnswer: boolean,
  at: Date,
): z.infer<typeof Released>['rule'] {
  if (!quiet) return 'none';
  if (isAnswer) return 'answer';
  const opening = firstSendTime({ quiet }, at);
  return opening?.getTime() === at.getTime() ? 'quiet_hours' : 'outside_current_quiet_hours';
}

/** When messages left for an address. */
export interface Departure {
  address: string;
  at: Date;
}

/** What left for an address between an opt-out and its end. */
export function leftAfter(
  optOut: { address: string; at: Date; endedAt: Date | null },
  departures: readonly Departure[],
): { messagesAfter: number; secondsUntilNothingLeft: number } {
  const after = departures.filter(
    ({ address, at }) =>
      contactKey(address) === optOut.address &&
      at > optOut.at &&
      (optOut.endedAt === null || at < optOut.endedAt),
  );
  const last = Math.max(optOut.at.getTime(), ...after.map(({ at }) => at.getTime()));
  return {
    messagesAfter: after.length,
    secondsUntilNothingLeft: (last - optOut.at.getTime()) / 1000,
  };
}

/** What the seals of an evidence say together. */
export function verificationOf(seals: readonly Seal[]): Pick<Evidence['verification'], 'result' | 'counts'> {
  const counts = { intact: 0, edited: 0, changed: 0, pending: 0, unsealed: 0 };
  for (const { state } of seals) counts[state] += 1;
  return {
    result: counts.changed > 0 ? 'changed' : counts.unsealed > 0 ? 'incomplete' : 'intact',
    counts,
  };
}
