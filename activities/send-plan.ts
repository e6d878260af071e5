import { lineHistory } from '#db/queries/attempts.ts';
import { stopFailed } from '#db/commands/campaigns/campaign-stops.ts';
import { setSendNow } from '#db/queries/line-orders.ts';
import { type LineRow, lockLine } from '#db/queries/lines.ts';
import { emitMessageEvents } from '#db/commands/sending/message-events.ts';
import { lockSequences } from '#db/queries/message-locks.ts';
import type { MessageRow } from '#db/queries/messages.ts';
import { loadPacedLine, setUsedUp } from '#db/queries/paced-lines.ts';
import type { TenantDb } from '#db/transactions.ts';
import {
  dueMessages,
  forcedFallbacks,
  markNew,
  queueLanes,
  restContacts,
  urgentMessages,
} from '#db/queries/queue.ts';
import { advanceMessage, owedFallbacks } from '#db/queries/sends.ts';
import { dayBounds, hourBounds } from '#domain/calendar.ts';
import { earliest } from '#domain/earliest.ts';
import {
  afterSends,
  canSend,
  type Choice,
  chooseSends,
  HOLD_REASONS,
  type HoldReason,
  type LineHistory,
  type PacedLine,
  planQueue,
  type QueuedMessage,
  shownWait,
  type UsedUp,
  usedUpAt,
} from '#domain/pacing.ts';
import type { Look } from './round.ts';
import { type Claim, claimMessages } from './send-claim.ts';

export interface SendPlan extends Look {
  claims: Claim[];
  /** Messages that leave as SMS at once, without the line. */
  forced: string[];
  /** Messages whose fallback SMS is still owed. */
  owed: string[];
  /** An operator has paused the line. */
  isPaused: boolean;
  /** Where the line is now. */
  carrier: string;
  /** The line had attempts without an outcome before these: a crash or a lost answer left them. */
  hasOpenAttempts: boolean;
}

/** Due messages looked at, and claimed at once by a line without a gap. */
const LOOKAHEAD = 16;
/** Looks of one plan, each at what the one before could not send. The next plan goes on from there. */
const MOST_LOOKS = 8;
/** As long as it takes to commit a reply or a message. */
const CONTENTION_RETRY_MS = 50;

/**
 * Decides under the line's lock what it sends now, and commits that decision with its attempts: caps, gaps and
 * windows hold whatever else happens at the same moment. With that lock held it waits for next to nobody: what others
 * are just changing it looks at again a moment later.
 * @returns null when the line is no longer in this workspace.
 */
export async function planSends(
  db: TenantDb,
  lineId: string,
  carrierTimeoutMs: number,
  now: Date,
): Promise<SendPlan | null> {
  const row = await lockLine(db, lineId);
  if (!row) return null;
  const state = await lineState(db, row, now);
  const { line, history } = state;
  await rememberUsedUp(db, lineId, state.known, line.usedUp);

  const { isPaused, hasOpenAttempts } = state;
  const { carrier } = row;
  const nothing = { claims: [], forced: [], owed: [], isPaused, hasOpenAttempts, carrier };
  if (row.heldUntil !== null && row.heldUntil > now)
    return { ...nothing, nextAt: row.heldUntil, reason: 'the line is being changed' };
  if (line.pastDue) return { ...nothing, nextAt: null, reason: operatorsReason('subscription_past_due') };
  if (isPaused) return { ...nothing, nextAt: null, reason: operatorsReason('line_paused') };

  const forced = await forcedFallbacks(db, lineId, now);
  const owed = await owedFallbacks(db, lineId);
  const claimed = await claimDue(db, state, carrierTimeoutMs, now);
  // At once: the next plan may be made after the cap's hour or day.
  const after = afterSends(
    history,
    claimed.claims.map(({ attempt }) => attempt),
  );
  await rememberUsedUp(db, lineId, line.usedUp, usedUpAt(line, after, now));
  return {
    ...claimed,
    forced: forced.due,
    owed,
    isPaused,
    hasOpenAttempts,
    carrier,
    nextAt: forced.due.length > 0 ? now : earliest(claimed.nextAt, forced.nextAt),
  };
}

/** Without its full stop: it stands within a sentence there. */
const operatorsReason = (reason: HoldReason): string => HOLD_REASONS[reason].replace(/\.$/, '');

interface LineState {
  row: LineRow;
  /** With the caps that are used up by now. */
  line: PacedLine;
  /** Those that are stored. */
  known: UsedUp;
  history: LineHistory;
  isPaused: boolean;
  hasOpenAttempts: boolean;
}

/** What the rules ask of a line. */
async function lineState(db: TenantDb, row: LineRow, now: Date): Promise<LineState> {
  const line = await loadPacedLine(db, row, now);
  const since = { day: dayBounds(line.timezone, now).start, hour: hourBounds(line.timezone, now).start };
  const { hasOpen: hasOpenAttempts, ...history } = await lineHistory(db, row.id, since);
  const usedUp = usedUpAt(line, history, now);
  const isPaused = row.pausedAt !== null;
  return { row, line: { ...line, usedUp }, known: line.usedUp, history, isPaused, hasOpenAttempts };
}

/** All that reaching a cap writes: what it holds back follows from it. */
async function rememberUsedUp(db: TenantDb, lineId: string, known: UsedUp, usedUp: UsedUp): Promise<void> {
  const isKnown =
    known.hourlyNew?.getTime() === usedUp.hourlyNew?.getTime() &&
    known.dailyNew?.getTime() === usedUp.dailyNew?.getTime() &&
    known.dailyTotal?.getTime() === usedUp.dailyTotal?.getTime();
  if (!isKnown) await setUsedUp(db, lineId, usedUp);
}

type Claimed = Pick<SendPlan, 'claims' | 'nextAt' | 'reason'>;

/** Claims what may leave now; else says when to look again. */
async function claimDue(
  db: TenantDb,
  state: LineState,
  carrierTimeoutMs: number,
  now: Date,
): Promise<Claimed> {
  const { row, line, history } = state;
  let wanted = canSend(line, now) ? row.sendNow : [];
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    const { open, next } = planQueue(line, history, await queueLanes(db, line.id, now), now);
    const urgent = await urgentMessages(db, line.id, wanted, now);
    const due = await dueMessages(db, line.id, open, now, LOOKAHEAD);
    const found = [...urgent, ...due.filter(({ id }) => !wanted.includes(id))];
    const choice = chooseSends(line, history, found, now, { batch: LOOKAHEAD });

    // Before other messages are locked: it waits for whoever holds these.
    await failOptedOut(
      db,
      found.filter(({ optedOut }) => optedOut),
      now,
    );
    await restContacts(db, line.id, open, choice.resting, choice.send, now);
    wanted = await keepWanted(db, line, wanted, stillWanted(urgent, choice));
    if (found.length === 0) return { claims: [], nextAt: next.at, reason: operatorsReason(next.reason) };
    if (choice.send.length > 0) {
      const claims = await claimMessages(db, state, chosenOf(found, choice), carrierTimeoutMs, now);
      const left = claims.map(({ message }) => message.id);
      // What somebody else is just changing is not claimed, and still wanted.
      await keepWanted(
        db,
        line,
        wanted,
        wanted.filter((id) => !left.includes(id)),
      );
      // The round goes on after these; one that dies is found by the sweep.
      return claims.length === 0 ? lookAgain(now) : { claims, nextAt: now, reason: 'more may be due' };
    }
    await markNew(db, misplacedOf(due, choice));
  }
  return lookAgain(now);
}

const chosenOf = (found: readonly QueuedMessage[], { send }: Choice): QueuedMessage[] =>
  found.filter(({ id }) => send.includes(id));

/** What would open a conversation, and was found where only known contacts are. */
const misplacedOf = (due: readonly QueuedMessage[], { held }: Choice): string[] =>
  due.filter(({ id, isNew }) => isNew && held.includes(id)).map(({ id }) => id);

/** Others are changing what is due. */
const lookAgain = (now: Date): Claimed => ({
  claims: [],
  nextAt: new Date(now.getTime() + CONTENTION_RETRY_MS),
  reason: 'others are changing what is due',
});

/** What an operator wants to leave now, unless a rule keeps it from leaving now. */
const stillWanted = (urgent: readonly QueuedMessage[], { held }: Choice): string[] =>
  urgent.filter(({ id, optedOut }) => !optedOut && !held.includes(id)).map(({ id }) => id);

/** What an operator wants to leave now is forgotten once it leaves, or cannot. @returns what is left of it. */
async function keepWanted(
  db: TenantDb,
  { id: lineId }: PacedLine,
  wanted: readonly string[],
  left: readonly string[],
): Promise<string[]> {
  const kept = wanted.filter((id) => left.includes(id));
  if (kept.length < wanted.length) await setSendNow(db, lineId, kept);
  return kept;
}

/**
 * Why a message that is due could not leave its line now, if it went ahead of all others and kept no gap.
 * @returns in words for the operator; null: it could. Under the line's lock.
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
  if (!message) {
    // One that leaves as SMS at once is not in the line's queue.
    if (line.pastDue) return HOLD_REASONS.subscription_past_due;
    return line.paused ? HOLD_REASONS.line_paused : null;
  }
  const { holdReason } = shownWait(line, { lastSentAt: null }, message, now);
  return holdReason ? HOLD_REASONS[holdReason] : null;
}

/** Messages whose contacts opted out after they were accepted. */
async function failOptedOut(db: TenantDb, refused: readonly QueuedMessage[], now: Date): Promise<void> {
  if (refused.length === 0) return;
  await lockSequences(
    db,
    refused.map(({ id }) => id),
  );
  const failed: MessageRow[] = [];
  for (const { id } of refused) {
    const message = await advanceMessage(db, id, ['pending', 'scheduled'], {
      to: 'failed',
      errorMessage: 'recipient_opted_out',
    });
    if (message) failed.push(message);
  }
  await stopFailed(db, failed, now);
  await emitMessageEvents(
    db,
    failed.map((message) => ({ event: 'message.failed', message, data: { error: 'recipient_opted_out' } })),
    now,
  );
}
