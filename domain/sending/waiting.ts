import { z } from 'zod';
import { daysBetween, hourBounds, toZoned } from '../base/calendar.ts';
import type { CampaignStatus } from '../campaigns/campaign.ts';
import type { MessageStatus } from '../messages/message-status.ts';
import type { Circuit } from './circuit.ts';
import { dailyNewCap, hourlyNewCap } from './line-limits.ts';
import { Id } from '../base/ids.ts';
import { endOfGap, type HoldReason, type PacedLine, workspaceStop } from './pacing.ts';
import type { WakingHours } from './quiet-hours.ts';
import { credentialsRefusal } from '../messages/send-outcome.ts';
import { awaitsOpening, type SendWindow } from './send-window.ts';
import { lawName } from './us-quiet-hours.ts';

/** Why a message has not been sent yet, in words for a person. */
export const WaitingFor = z
  .object({
    reason: z.string().meta({ description: 'A `holdReason`, for example `daily_new_cap`.' }),
    until: z.iso.datetime().nullable().meta({ description: 'null: until something changes.' }),
    text: z.string().meta({ description: 'One or two sentences for a person.' }),
    data: z.object({ messageId: Id }).optional().meta({
      description:
        'With `previous_step`: the message of the first unsent step, whose timeline says what it waits for.',
    }),
  })
  .meta({ id: 'WaitingFor' });
export type WaitingFor = z.infer<typeof WaitingFor>;

/** The facts that determine why a message waits. */
export interface WaitFacts {
  now: Date;
  /** The workspace's time zone, in which times are shown. */
  timezone: string;
  message: {
    status: MessageStatus | 'sending';
    holdReason: string | null;
    scheduledAt: Date;
    window?: SendWindow;
    /** The quiet hours that apply to it. */
    quiet?: WakingHours;
    /** The earliest time of the fallback SMS that it awaits; null: it awaits none. */
    fallbackAt: Date | null;
  };
  suspended?: boolean;
  pastDue: boolean;
  optedOut: boolean;
  /** null: the message belongs to no campaign. */
  campaign: CampaignStatus | null;
  /** The message of the first unsent step before this one. */
  previousStep?: string | null;
  /** null: no line of the workspace can send it. */
  line: WaitingLine | null;
  /** The attempt without an outcome yet. */
  openAttempt: { answerBy: Date } | null;
  /** The carrier's reason for the last failed call of the line, or of this message. */
  lastFailure: string | null;
  /** The number of messages of the line that come before this one. */
  ahead: number;
  /** The required task queue that no worker serves; null: all are served, or it is not known. */
  unserved: string | null;
}

export interface WaitingLine extends PacedLine {
  provisioning: 'awaiting_payment' | 'provisioning' | 'active' | 'failed' | 'canceled';
  connected: boolean;
  switchedOn: boolean;
  circuit: Circuit;
  /** Set while the line is moved or connected to another carrier. */
  heldUntil: Date | null;
  /** Why its last check failed. */
  healthReason: string | null;
  lastSentAt: Date | null;
}

export type WaitReason =
  | Exclude<HoldReason, 'idle' | 'next_in_turn'>
  | 'campaign_inactive'
  | 'campaign_paused'
  | 'carrier_answer'
  | 'carrier_outcome'
  | 'carrier_retry'
  | 'credentials_refused'
  | 'fallback_sms'
  | 'line_changing'
  | 'line_failed'
  | 'line_provisioning'
  | 'no_line'
  | 'opt_out_suspected'
  | 'payment_missing'
  | 'personalization'
  | 'previous_step'
  | 'recipient_opted_out'
  | 'worker_unavailable';

/** Reasons for which a message was moved to its scheduled time. */
const MOVED = [
  'carrier_pause',
  'carrier_retry',
  'contact_gap',
  'credentials_refused',
  'daily_new_cap',
  'daily_total_cap',
  'hourly_new_cap',
  'line_resting',
  'recipient_quiet_hours',
  'send_window',
] as const satisfies WaitReason[];

/** Reasons why a message is not in its line's queue yet. */
const NOT_QUEUED = ['opt_out_suspected', 'personalization', 'previous_step'] as const satisfies WaitReason[];

export type MoveReason = (typeof MOVED)[number];

const oneOf = <R extends string>(reasons: readonly R[], reason: string | null): R | undefined =>
  reasons.find((known) => known === reason);

interface Wait {
  reason: WaitReason;
  until?: Date;
}

/** Why a message waits, and until when; null if it does not wait. The longest-lasting reason comes first. */
export function waitingFor(facts: WaitFacts): WaitingFor | null {
  const wait = findWait(facts);
  if (!wait) return null;
  const { reason, until = null } = wait;
  return {
    reason,
    until: until?.toISOString() ?? null,
    text: TEXTS[reason](facts, until ?? facts.now),
    ...(reason === 'previous_step' && facts.previousStep && { data: { messageId: facts.previousStep } }),
  };
}

function findWait(facts: WaitFacts): Wait | null {
  const { now, message, openAttempt } = facts;
  if (message.status === 'sending') {
    if (openAttempt && openAttempt.answerBy > now)
      return { reason: 'carrier_answer', until: openAttempt.answerBy };
    return { reason: 'carrier_outcome' };
  }
  const stop = workspaceStop(facts);
  if (message.fallbackAt !== null)
    return stop ? { reason: stop } : fallbackDue(now, message.fallbackAt, message);
  if (message.status !== 'pending' && message.status !== 'scheduled') return null;
  if (stop) return { reason: stop };
  return outsideOfLine(facts) ?? lineUnusable(facts) ?? itsTime(facts) ?? lineBusy(facts);
}

function fallbackDue(now: Date, at: Date, { holdReason }: WaitFacts['message']): Wait {
  if (at <= now) return { reason: 'fallback_sms' };
  return { reason: holdReason === 'recipient_quiet_hours' ? holdReason : 'fallback_sms', until: at };
}

function outsideOfLine({ message, optedOut, campaign }: WaitFacts): Wait | null {
  if (optedOut) return { reason: 'recipient_opted_out' };
  if (campaign === 'paused') return { reason: 'campaign_paused' };
  const notQueued = oneOf(NOT_QUEUED, message.holdReason);
  if (notQueued) return { reason: notQueued };
  return campaign !== null && campaign !== 'active' ? { reason: 'campaign_inactive' } : null;
}

function lineUnusable({ line }: WaitFacts): Wait | null {
  if (!line) return { reason: 'no_line' };
  const { provisioning } = line;
  if (provisioning === 'awaiting_payment') return { reason: 'payment_missing' };
  if (provisioning === 'failed' || provisioning === 'canceled') return { reason: 'line_failed' };
  if (!line.connected) return { reason: 'line_not_connected' };
  if (provisioning === 'provisioning') return { reason: 'line_provisioning' };
  if (line.paused) return { reason: 'line_paused' };
  return line.switchedOn ? null : { reason: 'line_inactive' };
}

function itsTime({ now, message: { scheduledAt, holdReason, window } }: WaitFacts): Wait | null {
  if (scheduledAt <= now) return null;
  const moved = oneOf(MOVED, holdReason);
  // Without one, it was accepted while its window was closed.
  const awaitsWindow = window && awaitsOpening(window, scheduledAt, now);
  return { reason: moved ?? (awaitsWindow ? 'send_window' : 'scheduled'), until: scheduledAt };
}

function lineBusy({ now, line, lastFailure, unserved }: WaitFacts): Wait {
  if (!line) return { reason: 'no_line' };
  if (unserved !== null) return { reason: 'worker_unavailable' };
  if (line.down) return { reason: 'line_down' };
  if (line.circuit.state !== 'closed') {
    const reason =
      lastFailure !== null && credentialsRefusal(lastFailure) !== null
        ? 'credentials_refused'
        : 'carrier_pause';
    return { reason, until: line.circuit.state === 'open' ? line.circuit.until : now };
  }
  if (line.heldUntil !== null && line.heldUntil > now)
    return { reason: 'line_changing', until: line.heldUntil };
  const gapEnd = endOfGap(line, line.lastSentAt);
  return gapEnd !== null && gapEnd > now ? { reason: 'line_gap', until: gapEnd } : { reason: 'scheduled' };
}

type Text = (facts: WaitFacts, until: Date) => string;

/** The texts for a person. `until` is used only by reasons that have one. */
const TEXTS: Record<WaitReason, Text> = {
  scheduled: ({ now, timezone, ahead }, until) => {
    if (until > now) return `The message is scheduled for ${momentText(until, now, timezone)}.`;
    if (ahead === 0) return 'The message is next in turn on its line.';
    const others = ahead === 1 ? 'one other message' : `${ahead} other messages`;
    return `The message waits for its turn: ${others} of the line ${ahead === 1 ? 'is' : 'are'} sent before it.`;
  },
  workspace_suspended: () =>
    'The operator of this installation has suspended the workspace, so nothing is sent. The message keeps its place and is sent once the workspace is resumed.',
  subscription_past_due: () =>
    "The workspace's subscription is past due or canceled, so nothing is sent. The message keeps its place and is sent once there is a paid subscription.",
  recipient_opted_out: () =>
    'The contact has opted out of messages. This message is not sent; it ends as failed when its turn comes.',
  campaign_paused: () =>
    'The campaign is paused. The message keeps its place and is sent once the campaign is resumed.',
  campaign_inactive: ({ campaign }) =>
    `The campaign is not active (${campaign ?? 'gone'}), so the message is not sent.`,
  personalization: () => 'The text of the message is still being written for this contact.',
  opt_out_suspected: () =>
    'The contact seems to have asked to be left alone. The message waits until somebody confirms or dismisses that.',
  previous_step: () =>
    'The message is a later step of its campaign. It is scheduled once the step before it has been sent.',

  no_line: () =>
    'No line of the workspace can carry the message. It is sent once there is an active line for its channel.',
  payment_missing: () =>
    'The line has not been paid for yet. The message is sent once the line is paid and set up.',
  line_failed: () =>
    'The line could not be set up. The message is sent once the line is requested again and is active.',
  line_not_connected: () =>
    'The line is not connected to a carrier yet. The message is sent once it is connected.',
  line_provisioning: () => 'The line is still being set up. The message is sent once the line is active.',
  line_paused: () => 'The line is paused. The message keeps its place and is sent once the line is resumed.',
  line_inactive: () =>
    'The line is switched off. The message keeps its place and is sent once the line is switched on.',
  line_down: ({ line }) =>
    `The line is down: it failed three checks in a row${answered(line?.healthReason ?? null)}. The message keeps its place and is sent once the line recovers.`,
  line_changing: () =>
    'The line is being moved or connected to another carrier. The message will be sent shortly.',
  worker_unavailable: ({ unserved }) =>
    `No worker serves the task queue ${unserved ?? ''}, so nothing is sent. The message is sent once a worker for it runs.`,

  carrier_pause: ({ now, timezone, lastFailure }, until) =>
    `The carrier takes no messages at the moment${answered(lastFailure)}. The next one is tried ${at(until, now, timezone)}.`,
  credentials_refused: ({ now, timezone, lastFailure }, until) =>
    `The carrier refuses the credentials of the line${answered(lastFailure && (credentialsRefusal(lastFailure) ?? lastFailure))}. Connect the line to its carrier again; until then it is tried again ${at(until, now, timezone)}.`,
  carrier_retry: ({ now, timezone, lastFailure }, until) =>
    `The carrier did not take the message${answered(lastFailure)}. It is tried again ${at(until, now, timezone)}.`,
  carrier_answer: () => 'The message was handed to the carrier, whose answer has not come yet.',
  carrier_outcome: () =>
    'The carrier did not answer in time. It is asked whether it took the message, which is not sent a second time.',
  fallback_sms: ({ now, timezone, lastFailure }, until) => {
    const text = 'The contact cannot be reached on the primary channel. An SMS is sent in its place.';
    if (until <= now) return text;
    return `${text} The SMS account did not take it${answered(lastFailure)}. It is tried again ${at(until, now, timezone)}.`;
  },

  line_gap: ({ line, now, timezone }, until) =>
    `The line pauses about ${seconds(line?.minGapSeconds ?? 0)} between two messages. The next one is sent ${at(until, now, timezone)}.`,
  contact_gap: ({ line, now, timezone }, until) =>
    `The contact was sent another message less than ${seconds(line?.contactGapSeconds ?? 0)} before. This one is sent ${at(until, now, timezone)}.`,
  send_window: ({ message, now, timezone }, until) =>
    `The message may be sent ${windowText(message.window)}. It is sent ${from(until, now, message.window?.timezone ?? timezone)}.`,
  recipient_quiet_hours: ({ message: { quiet }, now, timezone }, until) =>
    `It is too early or too late where the recipient is: messages are sent ${quietText(quiet)}. It is sent ${from(until, now, quiet?.zones[0] ?? timezone)}.`,
  hourly_new_cap: ({ line, now, timezone }, until) =>
    `The line has reached its limit of ${newContacts(line && hourlyNewCap(line, hourBounds(timezone, now).start))} this hour; this message is sent ${from(until, now, timezone)}.`,
  daily_new_cap: ({ line, now, timezone }, until) =>
    `The line has reached its limit of ${newContacts(line && dailyNewCap(line, now))} today; this message is sent ${from(until, now, timezone)}.`,
  line_resting: ({ now, timezone }, until) =>
    `The reputation of the line is critical, so it opens no new conversations. This message is sent ${from(until, now, timezone)} at the earliest, or once the line has recovered before.`,
  daily_total_cap: ({ line, now, timezone }, until) =>
    `The line has reached its limit of ${count(line?.dailyTotal ?? 0, 'message')} today; this message is sent ${from(until, now, timezone)}.`,
};

export const WAIT_REASONS: readonly string[] = Object.keys(TEXTS);

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
const newContacts = (n: number | null): string => count(n ?? 0, 'new contact');
const seconds = (n: number): string => count(n, 'second');

/** The carrier's reason, if known. */
const answered = (reason: string | null): string => (reason === null ? '' : ` (“${reason}”)`);

const clock = (at: Date, zone: string): string =>
  toZoned(zone, at).toPlainTime().toString({ smallestUnit: 'minute' });

/** `today`, `tomorrow` or `on` a date. */
function day(at: Date, now: Date, zone: string): string {
  const days = daysBetween(zone, now, at);
  if (days === 0) return 'today';
  if (days === 1) return 'tomorrow';
  const date = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    day: 'numeric',
    month: 'long',
    year: days > 300 ? 'numeric' : undefined,
  });
  return `on ${date.format(at)}`;
}

/** A time, relative to `now`. */
export const momentText = (at: Date, now: Date, zone: string): string =>
  `${day(at, now, zone).replace(/^on /, '')} at ${clock(at, zone)} ${zone}`;

/** A time at which something happens, to the second if it is near. */
function at(until: Date, now: Date, zone: string): string {
  const left = Math.ceil((until.getTime() - now.getTime()) / 1000);
  if (left <= 0) return 'in a moment';
  return left < 120 ? `in ${seconds(left)}` : `${day(until, now, zone)} at ${clock(until, zone)} ${zone}`;
}

/** A time from which something may happen. */
const from = (until: Date, now: Date, zone: string): string =>
  `${day(until, now, zone)} from ${clock(until, zone)} ${zone}`;

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

function windowText(window: SendWindow | undefined): string {
  if (!window) return 'at any time';
  const { start = '00:00', end = '24:00', days, timezone } = window;
  const names = (days ?? []).toSorted((a, b) => a - b).map((index) => WEEKDAYS[index]);
  const on =
    days === undefined || names.length === 7
      ? ''
      : ` on ${new Intl.ListFormat('en').format(names.map(String))}`;
  return `between ${start} and ${end} ${timezone}${on}`;
}

function quietText(quiet: WakingHours | undefined): string {
  if (!quiet) return 'in the daytime';
  const { start, end, zones, law } = quiet;
  const places = new Intl.ListFormat('en').format(zones);
  const state = law === null ? '' : ` and by the law of ${lawName(law)}`;
  return `between ${start} and ${end} ${places}${state}`;
}
