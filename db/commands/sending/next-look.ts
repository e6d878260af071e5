import type { ActionPlan } from '#db/commands/messages/message-actions.ts';
import { NEVER } from '#db/connection/timestamp.ts';
import type { workOutsideQueue } from '#db/queries/sending/queue.ts';
import type { Look } from '#db/wakes/decisions.ts';
import type { MessageHold } from '#db/wakes/transaction-wakes.ts';
import { earliest } from '#domain/base/earliest.ts';
import { LONGEST_PAUSE_MS } from '#domain/sending/circuit.ts';
import { endOfGap, type PacedLine } from '#domain/sending/holds.ts';
import type { LineHolds } from '#domain/sending/pacing.ts';
import type { LineReason } from '#domain/sending/wait-reasons.ts';
import { failureOf, isFailing } from '#domain/sending/why-it-waits.ts';
import { type Claimed, CONTENTION_RETRY_MS, operatorsReason } from './claim-due.ts';
import type { LineState } from './line-state.ts';
import type { StartedAttempt } from './send-claim.ts';

/** When to look again for fallback SMS that are left: the round ended before, others had locked them, or their attempt has no outcome. */
const FALLBACK_AGAIN_MS = 10_000;

export const NO_ACTIONS: ActionPlan = { claimed: null, ended: [], nextAt: null };

/** What a line has to do besides the messages in its queue. */
export interface BesidesQueue {
  due: Awaited<ReturnType<typeof workOutsideQueue>>;
  /** Fallback SMS that were due now wait until their recipients are awake. */
  hasPostponed: boolean;
  /** The claimed ones. */
  bubbles: StartedAttempt[];
  actions: ActionPlan;
}

/** When the line plans again, and why not before. */
export function nextLook(
  state: LineState,
  holds: LineHolds,
  claimed: Claimed,
  besides: BesidesQueue,
  hold: MessageHold | undefined,
  now: Date,
): Look & { resumesAt: Date | null; blockedBy: LineReason | null } {
  const blockedBy = blockOf(state, holds, claimed, now);
  const stableHold = isStable(state, holds, claimed, besides) ? hold : undefined;
  const nextBesides = nextBesidesAt(besides, now);
  return {
    nextAt: lookAgainAt(claimed, besides, nextBesides, stableHold, now),
    resumesAt: resumptionOf(state, claimed, besides, nextBesides, now),
    reason: blockedBy === null ? claimed.reason : operatorsReason(blockedBy),
    blockedBy,
    hold: stableHold,
  };
}

/** A send changes the holds, and so does the outcome of an open attempt. */
const isStable = (
  { firstAnswerBy }: LineState,
  { all }: LineHolds,
  { claims }: Claimed,
  { bubbles }: BesidesQueue,
): boolean => claims.length === 0 && bubbles.length === 0 && (firstAnswerBy === null || all?.at === null);

function lookAgainAt(
  { nextAt, waitsFor }: Claimed,
  { due, hasPostponed, bubbles }: BesidesQueue,
  nextBesides: Date | null,
  hold: MessageHold | undefined,
  now: Date,
): Date | null {
  const soon = new Date(now.getTime() + CONTENTION_RETRY_MS);
  // More than were read may be due.
  if (hasPostponed) return soon;
  if (due.bubbles.length > 0) return bubbles.length > 0 ? now : soon;
  if (due.smsOnly.length > 0) return now;
  return earliest(nextAt && isCap(waitsFor) ? endOf(hold, nextAt) : nextAt, nextBesides);
}

/** When something besides the queue is due next. */
function nextBesidesAt({ due, actions }: BesidesQueue, now: Date): Date | null {
  // Stored with the decision, so that they are sent even if this run of the workflow is lost.
  const owedAgainAt = due.fallbacksDue.length > 0 ? new Date(now.getTime() + FALLBACK_AGAIN_MS) : null;
  return [
    due.nextSmsOnlyAt,
    due.nextFallbackAt,
    owedAgainAt,
    actions.nextAt,
    due.nextBubbleAt,
  ].reduce<Date | null>((a, b) => earliest(a, b), null);
}

/** When the line goes on without a new plan: at the end of its gap, if nothing but its queue waits. */
function resumptionOf(
  { line }: LineState,
  { leavesMore }: Claimed,
  { due }: BesidesQueue,
  nextBesides: Date | null,
  now: Date,
): Date | null {
  const isQueueOnly = due.smsOnly.length === 0 && due.fallbacksDue.length === 0;
  const gapEnd = leavesMore && isQueueOnly ? endOfGap(line, now) : null;
  return gapEnd && earliest(gapEnd, nextBesides);
}

/** Why the line cannot send at all; null: it can. */
function blockOf(
  { line, firstAnswerBy }: LineState,
  { all }: LineHolds,
  claimed: Claimed,
  now: Date,
): LineReason | null {
  if (all?.at === null) return all.reason;
  const isUnanswered = firstAnswerBy !== null && firstAnswerBy <= now && claimed.claims.length === 0;
  return isUnanswered || triesCarrier(line, claimed, now) ? failureOf(line) : null;
}

/**
 * Whether the carrier accepts nothing, and the next message is to find out whether that is over: one that waits for the end of
 * the pause, or for its own retry. Later messages do not count: nobody looks when the pause ends.
 */
const triesCarrier = (line: PacedLine, { waitsFor, nextAt }: Claimed, now: Date): boolean =>
  waitsFor === failureOf(line) ||
  (waitsFor === 'scheduled' &&
    isFailing(line) &&
    nextAt !== null &&
    nextAt.getTime() - now.getTime() <= LONGEST_PAUSE_MS);

/** A hold on messages that join the queue. */
export const messageHold = ({ all, newContacts }: LineHolds): MessageHold => ({
  all: all?.at === null ? NEVER : all?.at,
  newContacts: newContacts?.at ?? undefined,
});

const CAPS: readonly Claimed['waitsFor'][] = [
  'daily_total_cap',
  'daily_new_cap',
  'hourly_new_cap',
  'line_resting',
];
const isCap = (reason: Claimed['waitsFor']): boolean => CAPS.includes(reason);

/**
 * When to look while a cap holds messages until `nextAt`: at the end of its hour or day, for those that join the queue until
 * then. Which of them wait until the morning depends on their windows.
 */
const endOf = (hold: MessageHold | undefined, nextAt: Date): Date | null =>
  earliest(nextAt, earliest(hold?.all ?? null, hold?.newContacts ?? null));
