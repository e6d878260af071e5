import { z } from 'zod';
import { JsonValue } from '../base/json-value.ts';
import { earliest } from '../base/earliest.ts';
import { Id } from '../base/ids.ts';
import type { LineStop } from '../lines/line-stop.ts';
import type { MessageAction } from './message-action.ts';
import { MessageStatus, shownStatus, type StoredStatus } from './message-status.ts';
import { momentText } from '../sending/moment-text.ts';
import { pastOf } from '../sending/wait-reasons.ts';
import { WaitingFor } from '../sending/waiting.ts';

export const TimelineEvent = z
  .object({
    at: z.iso.datetime(),
    type: z
      .enum([
        'accepted',
        'scheduled',
        'moved',
        'held',
        'ordered',
        'edited',
        'unsent',
        'reacted',
        'claimed',
        'sent',
        'delivered',
        'read',
        'clicked',
        'failed',
        'fallback',
        'canceled',
        'reconciled',
        'webhook_delivered',
        'webhook_failed',
      ])
      .meta({
        description:
          '`moved`: a rule, or the carrier, put it off until a later time. `held`: it was due, and its line could not send; ' +
          '`data` has `reason`, `from`, `until` (null: it still cannot), `by` and `note` (the reason) of whoever paused the line, ' +
          'and `error` of the carrier. `ordered`: an operator sent or skipped it; `data` has `action`, `by` and `reason`. `edited`, `unsent`, `reacted`: we replaced its text, took it back or reacted to it; ' +
          '`data` has `by`, and if that failed, `reason`. `clicked`: a link was opened for the first time; `data` has `url` and `clicks`.',
      }),
    text: z.string().meta({ description: 'For people; may change.' }),
    data: z.record(z.string(), JsonValue),
  })
  .meta({ id: 'TimelineEvent' });
export type TimelineEvent = z.infer<typeof TimelineEvent>;

/** The history of a message, in order, and what it waits for. */
export const Timeline = z
  .object({
    messageId: Id,
    status: MessageStatus,
    waitingFor: WaitingFor.nullable().meta({ description: 'null: it waits for nothing.' }),
    events: z.array(TimelineEvent).meta({ description: 'Oldest first.' }),
  })
  .meta({ id: 'Timeline' });
export type Timeline = z.infer<typeof Timeline>;

/** Everything recorded about a message. */
export interface MessageRecord {
  timezone: string;
  message: {
    status: StoredStatus;
    source: string;
    campaignId: string | null;
    /** The version of its campaign whose text it has; null: the first. */
    campaignVersion: number | null;
    createdAt: Date;
    scheduledAt: Date;
    deliveredAt: Date | null;
    readAt: Date | null;
    updatedAt: Date;
    holdReason: string | null;
    errorMessage: string | null;
    /** It is in a lane of new contacts. */
    isNew: boolean;
  };
  /** The message that it corrects; null: none. */
  corrects: string | null;
  /** The name of the rule that sent it; null: none did, or it is not recorded any more. */
  rule: string | null;
  /** In order of time, like all lists here. */
  moves: readonly Move[];
  /** The holds of its line while the message was due. */
  holds: readonly RecordedHold[];
  /** What we did to it after it was sent. */
  actions: readonly RecordedAction[];
  /** Who replaced its text before it was sent. */
  edits: readonly { at: Date; by: string | null }[];
  /** The orders of operators about this message. */
  orders: readonly RecordedOrder[];
  attempts: readonly RecordedAttempt[];
  links: readonly RecordedLink[];
  /** The events of the message, of the last 30 days. */
  events: readonly { event: string; createdAt: Date }[];
  deliveries: readonly RecordedDelivery[];
}

interface RecordedAction {
  action: MessageAction;
  actorName: string | null;
  status: 'pending' | 'calling' | 'done' | 'failed';
  reason: string | null;
  finishedAt: Date | null;
}

/** A link of ours in the message. */
interface RecordedLink {
  url: string;
  /** null: nobody has opened it. */
  clickedAt: Date | null;
  clicks: number;
}

interface RecordedOrder {
  at: Date;
  action: string;
  by: string | null;
  reason: string | null;
  /** When a message that was sent now was to be sent before. */
  plannedFor?: Date | null;
}

interface Move {
  at: Date;
  movedFrom: Date;
  movedTo: Date;
  reason: string;
  /** Set if it moved to another line, at the same time. */
  fromLineId?: string | null;
  toLineId?: string | null;
  /** The rule of its pool. */
  rule?: string | null;
}

/** When and why a line could not send. */
export interface RecordedHold {
  beganAt: Date;
  /** null: not yet. */
  endedAt: Date | null;
  reason: string;
  /** The operator, and their reason. */
  by: string | null;
  note: string | null;
  /** The carrier's error. */
  error: string | null;
}

interface RecordedAttempt {
  id: string;
  lineId: string;
  /** It opened a conversation. */
  isNew: boolean;
  kind: 'primary' | 'fallback' | 'bubble';
  channel: string;
  carrier: string;
  startedAt: Date;
  answerBy: Date;
  finishedAt: Date | null;
  outcome:
    | 'accepted'
    | 'unavailable'
    | 'refused'
    | 'transient'
    | 'unknown'
    | 'not_sent'
    | 'unsendable'
    | null;
  reason: string | null;
}

interface RecordedDelivery {
  id: string;
  webhookId: string;
  event: string;
  success: boolean;
  responseStatus: number | null;
  error: string | null;
  latencyMs: number | null;
  finishedAt: Date;
}

/** Builds the timeline of the API. */
export const presentTimeline = (
  messageId: string,
  record: MessageRecord,
  waitingFor: WaitingFor | null,
): Timeline => ({
  messageId,
  status: shownStatus(record.message.status),
  waitingFor,
  events: timelineEvents(record),
});

/** The history of a message, oldest first, in words for a person. */
function timelineEvents(record: MessageRecord): TimelineEvent[] {
  const events = [
    ...beginning(record),
    ...record.moves.map((move) => moved(record, move)),
    ...heldWhileDue(record),
    ...record.edits.map(edited),
    ...record.actions.flatMap(acted),
    ...record.orders.map(ordered),
    ...record.attempts.flatMap((attempt) => attempted(record, attempt)),
    ...record.links.flatMap(clicked),
  ];
  // The clocks of the API and of the database differ, but nothing happens to a message before it is accepted.
  const { createdAt } = record.message;
  return [...events, ...ending(record, events), ...record.deliveries.map(delivered)]
    .map((event) => ({ ...event, at: event.at > createdAt ? event.at : createdAt }))
    .toSorted((a, b) => a.at.getTime() - b.at.getTime())
    .map((event) => ({ ...event, at: event.at.toISOString() }));
}

type Happened = Omit<TimelineEvent, 'at'> & { at: Date };

const SOURCES: Record<string, string> = {
  api: 'Accepted from the API.',
  'crm-drip': 'Accepted from the API for paced sending.',
  inbox: 'Written in the inbox.',
  device: 'Sent from the phone or computer of the line, not through this service.',
  campaign: 'Created by a campaign.',
  'ai-draft': 'Created from an approved draft.',
  autopilot: 'Written and sent by the autopilot.',
  rule: 'Sent by a rule.',
  crm: 'Written in the connected CRM.',
  'fallback-sms': 'Requested as an SMS in place of another message.',
};

function beginning({
  message,
  corrects,
  rule,
  moves,
  orders,
  attempts,
  timezone,
}: MessageRecord): Happened[] {
  const { createdAt: at, source, campaignId } = message;
  const campaignVersion = message.campaignVersion ?? 1;
  const isEdited = campaignId !== null && campaignVersion > 1;
  const accepted: Happened = {
    at,
    type: 'accepted',
    text:
      corrects !== null
        ? 'Sent to correct a message of a campaign.'
        : isEdited
          ? `Created by a campaign, and has the text of version ${campaignVersion}.`
          : rule === null
            ? (SOURCES[source] ?? `Accepted (${source}).`)
            : `Sent by the rule “${rule}”.`,
    data: {
      source,
      ...(campaignId !== null && { campaignId }),
      ...(isEdited && { campaignVersion }),
      ...(corrects !== null && { corrects }),
    },
  };
  const [first] = attempts;
  // An order to send it now overwrites its time, as a move does.
  const changes = [
    ...moves.map((move) => ({ at: move.at, planned: move.movedFrom })),
    ...orders.flatMap((order) => (order.plannedFor ? { at: order.at, planned: order.plannedFor } : [])),
  ].toSorted((a, b) => a.at.getTime() - b.at.getTime());
  // What changed later is a retry, or the fallback SMS.
  const change = changes.find((one) => !first || one.at <= first.startedAt);
  const planned = change?.planned ?? message.scheduledAt;
  // An attempt after the first is a retry.
  const isRetry = !change && first !== undefined && planned > first.startedAt;
  if (isRetry || planned.getTime() - at.getTime() < 1000) return [accepted];
  const text = `Scheduled for ${momentText(planned, at, timezone)}.`;
  return [accepted, { at, type: 'scheduled', text, data: { scheduledDate: planned.toISOString() } }];
}

/** Why a message left its line. */
const LEFT: Record<LineStop | 'line_stopped' | 'line_left' | 'by_operator', string> = {
  by_operator: 'an operator moved it',
  line_down: 'its line was down',
  line_inactive: 'its line was not active',
  line_left: 'its line has left the workspace',
  line_paused: 'its line was paused',
  line_resting: 'its line was resting',
  line_stopped: 'its line could not send',
};

function moved({ timezone }: MessageRecord, move: Move): Happened {
  const { at, movedFrom, movedTo, reason, fromLineId, toLineId, rule } = move;
  if (fromLineId && toLineId) {
    const where = rule ? 'another line of its pool' : 'another line';
    return {
      at,
      type: 'moved',
      text: `Moved to ${where}: ${(LEFT as Record<string, string>)[reason] ?? reason}.`,
      data: { reason, fromLineId, toLineId, ...(rule && { rule }) },
    };
  }
  return {
    at,
    type: 'moved',
    text: `Moved to ${momentText(movedTo, at, timezone)}: ${pastOf(reason)}.`,
    data: { reason, from: movedFrom.toISOString(), to: movedTo.toISOString() },
  };
}

/** A message that is claimed at the moment at which a hold begins or ends has not waited for it. */
const SHORTEST_HOLD_MS = 1000;

/** From when until when a message could have been sent. `until` null: it still can. */
export function dueTime({
  message,
  moves,
  orders,
  attempts,
}: Pick<MessageRecord, 'message' | 'moves' | 'orders' | 'attempts'>) {
  const { createdAt, scheduledAt, status, updatedAt } = message;
  const planned = [
    moves[0]?.movedFrom,
    ...orders.map(({ plannedFor }) => plannedFor),
    attempts[0]?.startedAt,
  ].reduce<Date>((a, b) => earliest(a, b ?? null), scheduledAt);
  const isWaiting = status === 'pending' || status === 'scheduled';
  const until = isWaiting
    ? null
    : (attempts.findLast(({ kind }) => kind !== 'fallback')?.startedAt ?? updatedAt);
  return { from: planned > createdAt ? planned : createdAt, until };
}

function heldWhileDue(record: MessageRecord): Happened[] {
  const { from, until } = dueTime(record);
  return record.holds.flatMap(({ beganAt, endedAt, reason, by, note, error }) => {
    const at = beganAt > from ? beganAt : from;
    const end = endedAt && (until === null || endedAt < until) ? endedAt : until;
    if (end !== null && end.getTime() - at.getTime() < SHORTEST_HOLD_MS) return [];
    if (reason === 'line_resting') return movedByRest(record, at, endedAt);
    const said = error === null ? '' : ` (“${error}”)`;
    const lasted = endedAt === null ? '' : ` until ${momentText(endedAt, at, record.timezone)}`;
    return {
      at,
      type: 'held' as const,
      text: `Held${lasted}: ${pastOf(reason)}${byText(by, note)}${said}.`,
      data: { reason, from: beganAt.toISOString(), until: endedAt?.toISOString() ?? null, by, note, error },
    };
  });
}

/**
 * A line that rests holds only new conversations. While it does, the wait of the message follows from the line; a rest that was lifted
 * before its end is known only by the record.
 */
function movedByRest(record: MessageRecord, from: Date, endedAt: Date | null): Happened[] {
  const isNew = record.attempts[0]?.isNew ?? record.message.isNew;
  const isTold = record.moves.some(({ reason }) => reason === 'line_resting');
  if (!isNew || isTold || endedAt === null) return [];
  return [moved(record, { at: from, movedFrom: from, movedTo: endedAt, reason: 'line_resting' })];
}

/** By `action` of the audit log. */
const ORDERS: Record<string, string> = {
  'message.sent_now': 'To be sent at once, regardless of its time and of gaps',
  'message.skipped': 'To be canceled',
};

const ordered = ({ at, action, by, reason }: RecordedOrder): Happened => ({
  at,
  type: 'ordered',
  text: `${ORDERS[action] ?? action}: ordered${byText(by, reason)}.`,
  data: { action, by, reason },
});

const edited = ({ at, by }: { at: Date; by: string | null }): Happened => ({
  at,
  type: 'edited',
  text: `Its text was replaced${byText(by, null)}.`,
  data: { by },
});

/** Those about the conversation leave the message as it is. */
const ACTIONS = {
  edit: { type: 'edited', did: 'Its text was replaced', not: 'Its text could not be replaced' },
  unsend: { type: 'unsent', did: 'It was taken back', not: 'It could not be taken back' },
  reaction: { type: 'reacted', did: 'We reacted to it', not: 'The reaction was not sent' },
  typing: null,
  read: null,
  contact_card: null,
} as const;

function acted({ action, actorName: by, status, reason, finishedAt: at }: RecordedAction): Happened[] {
  const words = ACTIONS[action.kind];
  if (at === null || words === null) return [];
  const { type, did, not } = words;
  const isDone = status === 'done';
  return [
    {
      at,
      type,
      text: `${isDone ? did : not}${byText(by, null)}${reason === null ? '' : `: ${reason}`}.`,
      data: {
        by,
        ...(reason !== null && { reason }),
        ...(action.kind === 'reaction' && {
          reaction: action.emoji ?? action.reaction,
          removed: action.removed,
        }),
      },
    },
  ];
}

const byText = (by: string | null, reason: string | null): string =>
  `${by === null ? '' : ` by ${by}`}${reason === null ? '' : ` (${reason})`}`;

function attempted(record: MessageRecord, attempt: RecordedAttempt): Happened[] {
  const { id: attemptId, lineId, carrier, channel, kind, startedAt, answerBy, finishedAt } = attempt;
  const data = { attemptId, lineId, carrier, channel };
  const claimed: Happened = {
    at: startedAt,
    type: 'claimed',
    text:
      kind === 'fallback'
        ? `Handed to the carrier ${carrier} as an SMS.`
        : `Handed to the carrier ${carrier}.`,
    data,
  };
  if (finishedAt === null || attempt.outcome === null) return [claimed];
  // A receipt may come before the carrier's response to the call.
  const at = earliest(finishedAt, attempt.outcome === 'accepted' ? record.message.deliveredAt : null);
  const outcome = { at, data: { ...data, outcome: attempt.outcome, reason: attempt.reason } };
  const result = { ...outcome, ...resultOf(record, attempt) };
  // A receipt within the carrier's response time counts as its response.
  if (finishedAt <= answerBy) return [claimed, result];
  return [
    claimed,
    { ...outcome, type: 'reconciled', text: RECONCILED[attempt.outcome] ?? RECONCILED_OTHERWISE },
    result,
  ];
}

const RECONCILED: Partial<Record<NonNullable<RecordedAttempt['outcome']>, string>> = {
  accepted: 'The carrier had not answered; asked again, it had accepted the message.',
  not_sent: 'The carrier had not answered; asked again, it had not taken the message.',
  unknown: 'The carrier had not answered, and could not tell whether it took the message.',
};
const RECONCILED_OTHERWISE = 'The carrier answered late.';

function resultOf(
  { message }: MessageRecord,
  { kind, outcome, reason }: RecordedAttempt,
): Pick<Happened, 'type' | 'text'> {
  const said = reason === null ? '' : `: ${reason}`;
  const tried = outcome === 'transient' || outcome === 'not_sent';
  if (kind === 'fallback') {
    if (outcome === 'accepted') return { type: 'fallback', text: 'The carrier accepted the SMS.' };
    return { type: 'fallback', text: `The SMS was not sent${said}.${tried ? ' It is tried again.' : ''}` };
  }
  switch (outcome) {
    case 'accepted':
      return { type: 'sent', text: 'The carrier accepted the message.' };
    case 'unavailable':
      return { type: 'fallback', text: `The contact cannot be reached on this channel${said}.` };
    case 'transient':
    case 'not_sent':
      return { type: 'moved', text: `The carrier did not take the message${said}. It is tried again later.` };
    case 'unknown':
      return { type: 'failed', text: FAILURES['outcome_unknown'] ?? '' };
    case 'refused':
    case 'unsendable':
    case null:
      return message.status === 'fallback'
        ? { type: 'fallback', text: `The carrier refused the message${said}.` }
        : { type: 'failed', text: failureText(reason) };
  }
}

function clicked({ url, clickedAt: at, clicks }: RecordedLink): Happened[] {
  if (at === null) return [];
  const often = clicks === 1 ? '' : `, ${clicks} times so far`;
  return [{ at, type: 'clicked', text: `A link was opened${often}: ${url}`, data: { url, clicks } }];
}

/** The final result, if no attempt shows it. */
function ending({ message, events }: MessageRecord, told: readonly Happened[]): Happened[] {
  const { status, deliveredAt, readAt, updatedAt, errorMessage, holdReason } = message;
  const end = (type: 'failed' | 'fallback', text: string): Happened[] => {
    if (told.some((event) => event.type === type)) return [];
    const at = events.find(({ event }) => event === `message.${type}`)?.createdAt ?? updatedAt;
    return [{ at, type, text, data: { reason: errorMessage } }];
  };
  return [
    ...(deliveredAt === null
      ? []
      : [
          {
            at: deliveredAt,
            type: 'delivered' as const,
            text: 'Delivered, as the carrier reports.',
            data: {},
          },
        ]),
    ...(readAt === null
      ? []
      : [{ at: readAt, type: 'read' as const, text: 'Read by the contact.', data: {} }]),
    ...(status === 'failed' ? end('failed', failureText(errorMessage)) : []),
    ...(status === 'fallback' ? end('fallback', fallbackText(errorMessage)) : []),
    ...(status === 'canceled'
      ? [
          {
            at: updatedAt,
            type: 'canceled' as const,
            text: cancelText(holdReason),
            data: { reason: holdReason },
          },
        ]
      : []),
  ];
}

/** By `errorMessage`. */
const FAILURES: Record<string, string> = {
  recipient_opted_out: 'Not sent: the contact has opted out of messages.',
  recipient_suppressed: 'Not sent: the agency has suppressed this address or its domain.',
  outcome_unknown: 'Failed: nobody can tell whether the carrier took the message, so it is not sent again.',
  empty_message: 'Not sent: the text was empty once it was filled in.',
  message_too_long: 'Not sent: the text was longer than 10,000 characters once it was filled in.',
  fallback_not_configured: 'Not sent: the workspace has no SMS fallback.',
  no_phone_number_for_sms: 'Not sent: the contact has no phone number for an SMS.',
};

const failureText = (reason: string | null): string =>
  FAILURES[reason ?? ''] ?? (reason === null ? 'Failed.' : `Failed: ${reason}.`);

const fallbackText = (reason: string | null): string =>
  reason === 'forced' || reason === null
    ? 'An SMS is sent in place of the message.'
    : `The contact cannot be reached on this channel: ${reason}.`;

/** By `holdReason`. */
const CANCELLATIONS: Record<string, string> = {
  campaign_ended: 'Canceled: the campaign ended.',
  reply: 'Canceled: the contact replied, which ends the campaign for this contact.',
  opt_out: 'Canceled: the contact opted out.',
  no_consent: 'Canceled: the contact withdrew consent.',
  failed: 'Canceled: an earlier message of the campaign could not be sent to this contact.',
  lead_deleted: 'Canceled: the contact was deleted.',
};

const cancelText = (reason: string | null): string =>
  CANCELLATIONS[reason ?? ''] ?? 'Canceled before it was sent.';

function delivered({ finishedAt, success, event, ...delivery }: RecordedDelivery): Happened {
  const { id: deliveryId, webhookId, responseStatus, error, latencyMs } = delivery;
  const why = error ?? (responseStatus === null ? 'no answer' : `status ${responseStatus}`);
  return {
    at: finishedAt,
    type: success ? 'webhook_delivered' : 'webhook_failed',
    text: success ? `A webhook took ${event}.` : `A webhook did not take ${event}: ${why}.`,
    data: { deliveryId, webhookId, event, responseStatus, error, latencyMs },
  };
}
