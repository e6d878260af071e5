import { stopFailed } from '#db/commands/campaigns/campaign-stops.ts';
import { emitMessageEvents } from '#db/commands/messages/message-events.ts';
import { setSendNow } from '#db/queries/sending/line-orders.ts';
import { lockSequences } from '#db/queries/sending/message-locks.ts';
import type { MessageRow } from '#db/queries/messages/messages.ts';
import { dueMessages, queueLanes, urgentMessages } from '#db/queries/sending/queue.ts';
import {
  holdPersons,
  holdSuspected,
  isOneOf,
  markNew,
  waitOutContactGaps,
} from '#db/queries/sending/queue-changes.ts';
import { personHolds } from '#db/queries/sending/person-holds.ts';
import { advanceMessage } from '#db/queries/sending/sends.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { PacedLine } from '#domain/sending/holds.ts';
import {
  type Choice,
  chooseSends,
  lookText,
  type NextLook,
  planQueue,
  type QueuedMessage,
} from '#domain/sending/pacing.ts';
import { whyLineWaits } from '#domain/sending/why-it-waits.ts';
import type { LineState } from './line-state.ts';
import { type StartedAttempt, claimMessages } from './send-claim.ts';

/** The number of due messages that are read, and claimed together by a line without a gap. */
const LOOKAHEAD = 16;
/** A round within a workflow task sends at most this many messages, because it blocks the task. */
const MAX_IN_TASK = 4;
/** Reads per plan. Each skips what the previous one could not send; the next plan continues there. */
const MAX_READS = 8;
/** About the time to commit a reply or a message. */
export const CONTENTION_RETRY_MS = 50;

export interface Claimed {
  claims: StartedAttempt[];
  /** When to look again. */
  nextAt: Date | null;
  reason: string;
  /** Nothing was claimed, because more messages may be sent now than a round within a workflow task sends. */
  isLong: boolean;
  /** More is due when the line may send again. */
  leavesMore: boolean;
  /** Why nothing is sent until `nextAt`; null: something is, or may be. */
  waitsFor: NextLook['reason'] | null;
}

const nothingClaimed = { claims: [], leavesMore: false, isLong: false, waitsFor: null };

interface ClaimOptions {
  carrierTimeoutMs: number;
  /** The round is within a workflow task: claims nothing if more than a few messages may be sent now. */
  inTask: boolean;
}

/** Claims the messages that may be sent now, or decides when to look again. */
export async function claimDue(
  db: TenantDb,
  state: LineState,
  now: Date,
  options: ClaimOptions,
): Promise<Claimed> {
  const { row, line, history } = state;
  let wanted = whyLineWaits(line, now) === null ? row.sendNow : [];
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const { open, next } = planQueue(line, history, await queueLanes(db, line.id, now), now);
    const urgent = await urgentMessages(db, line.id, wanted, now);
    const due = await dueMessages(db, line.id, open, now, LOOKAHEAD);
    const found = await withPersonHolds(
      db,
      line,
      [...urgent, ...due.filter(({ id }) => !wanted.includes(id))],
      now,
    );
    const choice = chooseSends(line, history, found, now, { batch: LOOKAHEAD });

    // Before other messages are locked, because this waits for their locks.
    await failOptedOut(db, found.filter(mustNotBeSent), now);
    const suspected = found.filter(({ suspected }) => suspected).map(({ id }) => id);
    if (suspected.length > 0) await holdSuspected(db, isOneOf(suspected));
    await holdPersons(db, choice.held);
    await waitOutContactGaps(db, line.id, open, choice.contactGaps, choice.send, now);
    wanted = await keepWanted(db, line, wanted, stillWanted(urgent, choice));

    if (found.length === 0) return waitUntil(next);
    if (choice.send.length > 0) return claimChosen(db, state, { found, choice, wanted }, now, options);
    await markNew(db, misplacedOf(due, choice));
  }
  return lookAgain(now);
}

async function withPersonHolds(
  db: TenantDb,
  { persons }: PacedLine,
  found: readonly QueuedMessage[],
  now: Date,
): Promise<QueuedMessage[]> {
  const holds = persons ? await personHolds(db, persons, found, now) : null;
  return found.map((message) => ({ ...message, personHold: holds?.get(message.id) ?? null }));
}

/** What one read of the queue found. */
interface Found {
  found: readonly QueuedMessage[];
  choice: Choice;
  /** The ids of messages that an operator ordered to be sent now. */
  wanted: readonly string[];
}

async function claimChosen(
  db: TenantDb,
  state: LineState,
  { found, choice, wanted }: Found,
  now: Date,
  { carrierTimeoutMs, inTask }: ClaimOptions,
): Promise<Claimed> {
  if (inTask && choice.send.length > MAX_IN_TASK)
    return {
      ...nothingClaimed,
      isLong: true,
      nextAt: now,
      reason: 'more messages are due than one workflow task sends',
    };
  const chosen = found.filter(({ id }) => choice.send.includes(id));
  const claims = await claimMessages(db, state, chosen, carrierTimeoutMs, now);
  const claimed = new Set(claims.map(({ message }) => message.id));
  // Messages that others have locked are not claimed, and are still wanted.
  const unclaimed = wanted.filter((id) => !claimed.has(id));
  const stillOrdered = await keepWanted(db, state.line, wanted, unclaimed);
  if (claims.length === 0) return lookAgain(now);
  const isLast = found.every(
    (message) => mustNotBeSent(message) || message.suspected || claimed.has(message.id),
  );
  return {
    ...nothingClaimed,
    claims,
    // A message that an operator ordered does not wait for the end of a gap.
    leavesMore: !isLast && stillOrdered.length === 0,
    // The round continues after these. If it crashes, the sweep wakes the line.
    nextAt: now,
    reason: 'more may be due',
  };
}

const waitUntil = ({ at, reason }: NextLook): Claimed => ({
  ...nothingClaimed,
  nextAt: at,
  reason: operatorsReason(reason),
  waitsFor: reason,
});

/** Messages that would start a conversation, but are in a lane of known contacts. */
const misplacedOf = (due: readonly QueuedMessage[], { misplaced }: Choice): string[] =>
  due.filter(({ id, isNew }) => isNew && misplaced.includes(id)).map(({ id }) => id);

/** Due messages are locked by others. */
const lookAgain = (now: Date): Claimed => ({
  ...nothingClaimed,
  nextAt: new Date(now.getTime() + CONTENTION_RETRY_MS),
  reason: 'other transactions are changing the due messages',
});

/** The messages that an operator ordered to be sent now, without those that a rule holds. */
const stillWanted = (urgent: readonly QueuedMessage[], { misplaced }: Choice): string[] =>
  urgent
    .filter((message) => !mustNotBeSent(message) && !message.suspected && !misplaced.includes(message.id))
    .map(({ id }) => id);

/** Removes orders to send a message now that are fulfilled or cannot be. @returns the remaining ones. */
async function keepWanted(
  db: TenantDb,
  { id: lineId }: PacedLine,
  wanted: readonly string[],
  remaining: readonly string[],
): Promise<string[]> {
  const kept = wanted.filter((id) => remaining.includes(id));
  if (kept.length < wanted.length) await setSendNow(db, lineId, kept);
  return kept;
}

/** Without the full stop, for use within a sentence. */
export const operatorsReason = (reason: NextLook['reason']): string => lookText(reason).replace(/\.$/, '');

/** Nothing is sent to the contact any more. */
const mustNotBeSent = ({ optedOut, suppressed }: QueuedMessage): boolean =>
  Boolean(optedOut) || Boolean(suppressed);

const refusal = (optedOut: boolean | undefined) =>
  optedOut ? 'recipient_opted_out' : 'recipient_suppressed';

/** Fails messages whose contacts opted out, or were suppressed, after they were accepted. */
async function failOptedOut(db: TenantDb, messages: readonly QueuedMessage[], now: Date): Promise<void> {
  if (messages.length === 0) return;
  await lockSequences(
    db,
    messages.map(({ id }) => id),
  );
  const failed: MessageRow[] = [];
  for (const { id, optedOut } of messages) {
    const message = await advanceMessage(db, id, ['pending', 'scheduled'], {
      to: 'failed',
      errorMessage: refusal(optedOut),
    });
    if (message) failed.push(message);
  }
  await stopFailed(db, failed, now);
  await emitMessageEvents(
    db,
    failed.map((message) => ({
      event: 'message.failed',
      message,
      data: { error: message.errorMessage ?? refusal(true) },
    })),
    now,
  );
}
