import { lineHistory } from '#db/queries/attempts.ts';
import { failOverLater, hasStopped } from '#db/commands/lines/line-failover.ts';
import { stopFailed } from '#db/commands/campaigns/campaign-stops.ts';
import { recordHold } from '#db/queries/line-holds.ts';
import { setSendNow } from '#db/queries/line-orders.ts';
import { type LineRow, lockLine } from '#db/queries/lines.ts';
import { judgeIfDue } from '#db/commands/lines/line-reputation.ts';
import type { MailSeal } from '#db/commands/outbox/mails.ts';
import { emitMessageEvents } from '#db/commands/sending/message-events.ts';
import { lockSequences } from '#db/queries/message-locks.ts';
import type { MessageRow } from '#db/queries/messages.ts';
import { loadPacedLine, setUsedUp } from '#db/queries/paced-lines.ts';
import { NEVER } from '#db/timestamp.ts';
import type { MessageHold } from '#db/transaction-wakes.ts';
import type { TenantDb } from '#db/transactions.ts';
import {
  dueMessages,
  holdSuspected,
  isOneOf,
  markNew,
  queueLanes,
  restContacts,
  urgentMessages,
  workAside,
} from '#db/queries/queue.ts';
import { advanceMessage } from '#db/queries/sends.ts';
import { dayBounds, hourBounds } from '#domain/calendar.ts';
import { LONGEST_PAUSE_MS } from '#domain/circuit.ts';
import { earliest } from '#domain/earliest.ts';
import { awakeAmong } from './forced-sends.ts';
import {
  afterSends,
  canSend,
  type Choice,
  chooseSends,
  endOfGap,
  HOLD_REASONS,
  type HoldReason,
  holdsOf,
  type LineHistory,
  type LineHolds,
  type PacedLine,
  planQueue,
  type QueuedMessage,
  reasonToRecord,
  shownWait,
  type UsedUp,
  usedUpAt,
} from '#domain/pacing.ts';
import type { Look } from './round.ts';
import { VOICE_NOTES_AHEAD_MS } from './voice-notes.ts';
import { type Claim, claimMessages } from './send-claim.ts';

export interface SendPlan extends Look {
  claims: Claim[];
  /** When the line may send again, if the carrier accepts all claims; null: only a new plan can tell. */
  resumesAt: Date | null;
  /** Messages to send as SMS immediately, without the line. */
  forced: string[];
  /** Messages whose fallback SMS has not been sent yet. */
  owed: string[];
  /** Nothing was claimed, because voice notes that are due soon may have to be created first. */
  awaitsVoiceNotes: boolean;
  /** Nothing was claimed, because more messages may be sent now than a brief round sends. */
  isLong: boolean;
  /** The line is paused. */
  isPaused: boolean;
  /** Why the line cannot send at all, unless it is paused; null: it can. */
  blockedBy: HoldReason | null;
  /** Nothing may be sent before the line's reputation has recovered. */
  isResting: boolean;
  /** The current carrier of the line. */
  carrier: string;
  /** The line has earlier attempts without an outcome, due to a crash or a lost response. */
  hasOpenAttempts: boolean;
}

/** The number of due messages that are read, and claimed together by a line without a gap. */
const LOOKAHEAD = 16;
/** A brief round sends at most this many messages, because it blocks a workflow task. */
const MAX_BRIEFLY = 4;
/** Reads per plan. Each skips what the previous one could not send; the next plan continues there. */
const MAX_READS = 8;
/** About the time to commit a reply or a message. */
const CONTENTION_RETRY_MS = 50;

/**
 * Decides under the line's lock what the line sends now, and commits that decision with its attempts, so caps, gaps and
 * windows hold under concurrency. While it holds that lock, it skips rows that others have locked and reads them again
 * shortly afterwards.
 * @param clock read after the line is locked, so that messages that became due while the plan waited for the lock are included.
 * @param options.hasVoiceNotes the voice notes that are due soon have been created.
 * @param options.isBrief claims nothing if more than a few messages may be sent now.
 * @param options.seal encrypts an email about the line's reputation; without it, none is written.
 * @returns null if the line is no longer in this workspace.
 */
export async function planSends(
  db: TenantDb,
  lineId: string,
  carrierTimeoutMs: number,
  clock: () => Date,
  {
    hasVoiceNotes = false,
    isBrief = false,
    seal,
  }: { hasVoiceNotes?: boolean; isBrief?: boolean; seal?: Pick<MailSeal, 'seal'> } = {},
): Promise<SendPlan | null> {
  const locked = await lockLine(db, lineId);
  if (!locked) return null;
  const now = clock();
  const row = await judgeIfDue(db, locked, seal, now);
  const failsOver = hasStopped(row) && (await failOverLater(db, row, now));
  const state = await lineState(db, row, now);
  const { line, history } = state;
  await storeUsedUp(db, lineId, state.stored, line.usedUp);
  await recordHold(db, row, reasonToRecord(line, now), now);

  const { isPaused, hasOpenAttempts } = state;
  const { carrier } = row;
  const holds = holdsOf(line, history, now);
  const nothing = {
    claims: [],
    resumesAt: null,
    forced: [],
    owed: [],
    awaitsVoiceNotes: false,
    isLong: false,
    isPaused,
    isResting: false,
    hasOpenAttempts,
    carrier,
    blockedBy: null,
  };
  if (row.heldUntil !== null && row.heldUntil > now)
    return { ...nothing, nextAt: row.heldUntil, reason: 'the line is being changed' };
  if ((line.pastDue || isPaused) && holds.all) {
    const { reason } = holds.all;
    return {
      ...nothing,
      nextAt: null,
      reason: operatorsReason(reason),
      blockedBy: line.pastDue ? reason : null,
      keepsOpen: true,
      hold: failsOver ? undefined : messageHold(holds),
    };
  }

  const aside = await workAside(db, lineId, {
    now,
    voiceNotesUntil: new Date(now.getTime() + VOICE_NOTES_AHEAD_MS),
  });
  if (aside.hasVoiceNotes && !hasVoiceNotes)
    return { ...nothing, awaitsVoiceNotes: true, nextAt: now, reason: 'a voice note is being made' };
  const forced = await awakeAmong(db, line, aside.forced, now);
  const claimed = await claimDue(db, state, carrierTimeoutMs, now, isBrief);
  // Stored now, because the next plan may be made after the hour or day of the cap.
  const after = afterSends(
    history,
    claimed.claims.map(({ attempt }) => attempt),
  );
  await storeUsedUp(db, lineId, line.usedUp, usedUpAt(line, after, now));
  // A send changes the holds, and so does the outcome of an open attempt.
  const isStable = claimed.claims.length === 0 && !failsOver && (!hasOpenAttempts || holds.all?.at === null);
  const hold = isStable ? messageHold(holds) : undefined;
  const { waitsFor, leavesMore, ...plan } = claimed;
  const nextAside = earliest(aside.nextForcedAt, aside.nextOwedAt);
  const isAlone = aside.forced.length === 0 && aside.owed.length === 0;
  const gapEnd = leavesMore && isAlone ? endOfGap(line, now) : null;
  const lookAt = plan.nextAt && isCap(waitsFor) ? endOf(hold, plan.nextAt) : plan.nextAt;
  const blockedBy =
    holds.all?.at === null
      ? holds.all.reason
      : triesCarrier(state.line, claimed, now)
        ? 'carrier_pause'
        : null;
  return {
    ...nothing,
    ...plan,
    reason: blockedBy === null ? plan.reason : operatorsReason(blockedBy),
    blockedBy,
    isResting: waitsFor === 'line_resting',
    keepsOpen: blockedBy !== null,
    hold,
    forced,
    owed: aside.owed,
    resumesAt: gapEnd && earliest(gapEnd, nextAside),
    nextAt: aside.forced.length > 0 ? now : earliest(lookAt, nextAside),
  };
}

/**
 * Whether the carrier accepts nothing, and the next message is to find out whether that is over: one that waits for the end of
 * the pause, or for its own retry. Later messages do not count: nobody looks when the pause ends.
 */
const triesCarrier = (line: PacedLine, { waitsFor, nextAt }: Claimed, now: Date): boolean =>
  waitsFor === 'carrier_pause' ||
  (waitsFor === 'scheduled' &&
    reasonToRecord(line, now) === 'carrier_pause' &&
    nextAt !== null &&
    nextAt.getTime() - now.getTime() <= LONGEST_PAUSE_MS);

/** A hold on messages that join the queue. */
const messageHold = ({ all, newContacts }: LineHolds): MessageHold => ({
  all: all?.at === null ? NEVER : all?.at,
  newContacts: newContacts?.at ?? undefined,
});

const CAPS: readonly (HoldReason | null)[] = [
  'daily_total_cap',
  'daily_new_cap',
  'hourly_new_cap',
  'line_resting',
];
const isCap = (reason: HoldReason | null): boolean => CAPS.includes(reason);

/**
 * When to look while a cap holds messages until `nextAt`: at the end of its hour or day, for those that join the queue until
 * then. Which of them wait until the morning depends on their windows.
 */
const endOf = (hold: MessageHold | undefined, nextAt: Date): Date | null =>
  earliest(nextAt, earliest(hold?.all ?? null, hold?.newContacts ?? null));

/** Without the full stop, for use within a sentence. */
const operatorsReason = (reason: HoldReason): string => HOLD_REASONS[reason].replace(/\.$/, '');

interface LineState {
  row: LineRow;
  /** With the caps that are used up now. */
  line: PacedLine;
  /** The caps that are stored as used up. */
  stored: UsedUp;
  history: LineHistory;
  isPaused: boolean;
  hasOpenAttempts: boolean;
}

/** Reads what the rules need to know about a line. */
async function lineState(db: TenantDb, row: LineRow, now: Date): Promise<LineState> {
  const line = await loadPacedLine(db, row, now);
  const since = { day: dayBounds(line.timezone, now).start, hour: hourBounds(line.timezone, now).start };
  const { hasOpen: hasOpenAttempts, ...history } = await lineHistory(db, row.id, since);
  const usedUp = usedUpAt(line, history, now);
  const isPaused = row.pausedAt !== null;
  return { row, line: { ...line, usedUp }, stored: line.usedUp, history, isPaused, hasOpenAttempts };
}

/** Stores which caps are used up. The status of held messages is derived from it. */
async function storeUsedUp(db: TenantDb, lineId: string, stored: UsedUp, usedUp: UsedUp): Promise<void> {
  const isStored =
    stored.hourlyNew?.getTime() === usedUp.hourlyNew?.getTime() &&
    stored.dailyNew?.getTime() === usedUp.dailyNew?.getTime() &&
    stored.dailyTotal?.getTime() === usedUp.dailyTotal?.getTime();
  if (!isStored) await setUsedUp(db, lineId, usedUp);
}

interface Claimed extends Pick<SendPlan, 'claims' | 'nextAt' | 'reason' | 'isLong'> {
  /** More is due when the line may send again. */
  leavesMore: boolean;
  /** Why nothing is sent until `nextAt`; null: something is, or may be. */
  waitsFor: HoldReason | null;
}

const nothingClaimed = { claims: [], leavesMore: false, isLong: false, waitsFor: null };

/**
 * Claims the messages that may be sent now, or decides when to look again.
 * @param isBrief as in `planSends`.
 */
async function claimDue(
  db: TenantDb,
  state: LineState,
  carrierTimeoutMs: number,
  now: Date,
  isBrief: boolean,
): Promise<Claimed> {
  const { row, line, history } = state;
  let wanted = canSend(line, now) ? row.sendNow : [];
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const { open, next } = planQueue(line, history, await queueLanes(db, line.id, now), now);
    const urgent = await urgentMessages(db, line.id, wanted, now);
    const due = await dueMessages(db, line.id, open, now, LOOKAHEAD);
    const found = [...urgent, ...due.filter(({ id }) => !wanted.includes(id))];
    const choice = chooseSends(line, history, found, now, { batch: LOOKAHEAD });

    // Before other messages are locked, because this waits for their locks.
    await failOptedOut(db, found.filter(isUnwelcome), now);
    const suspected = found.filter(({ suspected }) => suspected).map(({ id }) => id);
    if (suspected.length > 0) await holdSuspected(db, isOneOf(suspected));
    await restContacts(db, line.id, open, choice.resting, choice.send, now);
    wanted = await keepWanted(db, line, wanted, stillWanted(urgent, choice));
    if (found.length === 0)
      return {
        ...nothingClaimed,
        nextAt: next.at,
        reason: operatorsReason(next.reason),
        waitsFor: next.reason,
      };
    if (choice.send.length > 0) {
      if (isBrief && choice.send.length > MAX_BRIEFLY)
        return {
          ...nothingClaimed,
          isLong: true,
          nextAt: now,
          reason: 'more messages are due than one workflow task sends',
        };
      const claims = await claimMessages(db, state, chosenOf(found, choice), carrierTimeoutMs, now);
      const left = claims.map(({ message }) => message.id);
      // Messages that others have locked are not claimed, and are still wanted.
      wanted = await keepWanted(
        db,
        line,
        wanted,
        wanted.filter((id) => !left.includes(id)),
      );
      if (claims.length === 0) return lookAgain(now);
      const isLast = found.every(
        (message) => isUnwelcome(message) || message.suspected || left.includes(message.id),
      );
      // A message that an operator ordered does not wait for the end of a gap.
      const leavesMore = !isLast && wanted.length === 0;
      // The round continues after these. If it crashes, the sweep wakes the line.
      return { ...nothingClaimed, claims, leavesMore, nextAt: now, reason: 'more may be due' };
    }
    await markNew(db, misplacedOf(due, choice));
  }
  return lookAgain(now);
}

const chosenOf = (found: readonly QueuedMessage[], { send }: Choice): QueuedMessage[] =>
  found.filter(({ id }) => send.includes(id));

/** Messages that would start a conversation, but are in a lane of known contacts. */
const misplacedOf = (due: readonly QueuedMessage[], { held }: Choice): string[] =>
  due.filter(({ id, isNew }) => isNew && held.includes(id)).map(({ id }) => id);

/** Due messages are locked by others. */
const lookAgain = (now: Date): Claimed => ({
  ...nothingClaimed,
  nextAt: new Date(now.getTime() + CONTENTION_RETRY_MS),
  reason: 'other transactions are changing the due messages',
});

/** The messages that an operator ordered to be sent now, without those that a rule holds. */
const stillWanted = (urgent: readonly QueuedMessage[], { held }: Choice): string[] =>
  urgent
    .filter((message) => !isUnwelcome(message) && !message.suspected && !held.includes(message.id))
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

/**
 * Why a due message could not be sent now even if it skipped the queue and all gaps. Requires the line's lock.
 * @returns a text for the operator; null if it could be sent.
 */
export async function whyHeld(
  db: TenantDb,
  row: LineRow,
  messageId: string,
  now: Date,
): Promise<string | null> {
  const { line } = await lineState(db, row, now);
  const [message] = await urgentMessages(db, line.id, [messageId], now);
  if (message?.optedOut) return 'The contact has opted out.';
  if (message?.suppressed) return 'The agency has suppressed the address.';
  if (!message) {
    // A message that is sent as SMS immediately is not in the line's queue.
    if (line.pastDue) return HOLD_REASONS.subscription_past_due;
    return line.paused ? HOLD_REASONS.line_paused : null;
  }
  const { holdReason } = shownWait(line, { lastSentAt: null }, message, now);
  return holdReason ? HOLD_REASONS[holdReason] : null;
}

/** Nothing is sent to the contact any more. */
const isUnwelcome = ({ optedOut, suppressed }: QueuedMessage): boolean =>
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
