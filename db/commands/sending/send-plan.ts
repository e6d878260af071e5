import type { Look } from '#db/wakes/decisions.ts';
import { failOverLater, hasStopped } from '#db/commands/lines/line-failover.ts';
import { tellBlocked } from '#db/commands/lines/line-block.ts';
import { judgeIfDue } from '#db/commands/lines/line-reputation.ts';
import type { MailSeal } from '#db/commands/events/mails.ts';
import { recordHold } from '#db/queries/sending/line-holds.ts';
import { type LineRow, lockLine } from '#db/queries/lines/lines.ts';
import { findMessages } from '#db/queries/messages/messages.ts';
import {
  postponeFallbacks,
  postponeSmsOnly,
  urgentMessages,
  workOutsideQueue,
} from '#db/queries/sending/queue.ts';
import { findWaits } from '#db/queries/messages/shown-messages.ts';
import { NEVER } from '#db/connection/timestamp.ts';
import type { MessageHold } from '#db/wakes/transaction-wakes.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { LONGEST_PAUSE_MS } from '#domain/sending/circuit.ts';
import { earliest } from '#domain/base/earliest.ts';
import { endOfGap, type PacedLine, usedUpAt } from '#domain/sending/holds.ts';
import { afterSends, holdsOf, type LineHolds } from '#domain/sending/pacing.ts';
import { briefOf, type LineReason } from '#domain/sending/wait-reasons.ts';
import {
  failureOf,
  isFailing,
  reasonToRecord,
  whyItWaits,
  whyLineWaits,
  workspaceStop,
} from '#domain/sending/why-it-waits.ts';
import { VOICE_NOTES_AHEAD_MS } from '#domain/messages/voice-note.ts';
import { type ActionPlan, planActions } from '#db/commands/messages/message-actions.ts';
import { type Claimed, claimDue, CONTENTION_RETRY_MS, operatorsReason } from './claim-due.ts';
import { awakeAmong } from './awake-recipients.ts';
import { type LineState, lineState, storeUsedUp } from './line-state.ts';
import { claimBubbles, type StartedAttempt } from './send-claim.ts';

/** When to look again for fallback SMS that are left: the round ended before, or another transaction had locked them. */
const FALLBACK_AGAIN_MS = 10_000;

/** Until somebody corrects the keys of the process. */
const UNREADABLE_AGAIN_MS = 60_000;
const UNREADABLE = 'the settings of the line cannot be decrypted: ENCRYPTION_KEYS lacks a key';

export interface SendPlan extends Look {
  claims: StartedAttempt[];
  /** When the line may send again, if the carrier accepts all claims; null: only a new plan can tell. */
  resumesAt: Date | null;
  /** What is done to messages that were exchanged: one at a time. */
  actions: Pick<ActionPlan, 'claimed' | 'ended'>;
  /** Messages to send as SMS immediately, without the line. */
  smsOnly: string[];
  /** Messages whose fallback SMS has not been sent yet. */
  fallbacksDue: string[];
  /** Nothing was claimed, because voice notes that are due soon may have to be created first. */
  awaitsVoiceNotes: boolean;
  /** Nothing was claimed, because more messages may be sent now than a brief round sends. */
  isLong: boolean;
  /** The line is paused. */
  isPaused: boolean;
  /** Why the line cannot send at all, unless it is paused; null: it can. */
  blockedBy: LineReason | null;
  /** Nothing may be sent before the line's reputation has recovered. */
  isResting: boolean;
  /** The current carrier of the line. */
  carrier: string;
  /** As in `LineState`. */
  firstAnswerBy: Date | null;
}

/**
 * Decides under the line's lock what the line sends now, and commits that decision with its attempts, so caps, gaps and
 * windows hold under concurrency. While it holds that lock, it skips rows that others have locked and reads them again
 * shortly afterwards.
 * @param clock read after the line is locked, so that messages that became due while the plan waited for the lock are included.
 * @param options.hasVoiceNotes the voice notes that are due soon have been created.
 * @param options.isBrief claims nothing if more than a few messages may be sent now.
 * @param options.canCall whether the settings of the line can be decrypted; otherwise nothing is claimed.
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
    canCall = () => true,
  }: {
    hasVoiceNotes?: boolean;
    isBrief?: boolean;
    seal?: Pick<MailSeal, 'seal'>;
    canCall?: (row: LineRow) => boolean;
  } = {},
): Promise<SendPlan | null> {
  const locked = await lockLine(db, lineId);
  if (!locked) return null;
  const now = clock();
  const { state, failsOver } = await noteState(db, locked, seal, now);
  const { row, line, history } = state;
  const nothing = nothingPlanned(state);
  if (row.heldUntil !== null && row.heldUntil > now)
    return { ...nothing, nextAt: row.heldUntil, reason: operatorsReason('line_changing') };
  const holds = holdsOf(line, history, now);
  const hold = failsOver ? undefined : messageHold(holds);
  const stop = workspaceStop(line);
  if ((stop || state.isPaused) && holds.all) {
    const { reason } = holds.all;
    const blockedBy = stop ? reason : null;
    return { ...nothing, nextAt: null, reason: operatorsReason(reason), blockedBy, hold };
  }

  if (!canCall(row)) {
    const nextAt = new Date(now.getTime() + UNREADABLE_AGAIN_MS);
    return { ...nothing, nextAt, reason: UNREADABLE, blockedBy: 'carrier_pause' };
  }
  const voiceNotesUntil = new Date(now.getTime() + VOICE_NOTES_AHEAD_MS);
  const others = await workOutsideQueue(db, lineId, { now, voiceNotesUntil });
  if (others.hasVoiceNotes && !hasVoiceNotes)
    return { ...nothing, awaitsVoiceNotes: true, nextAt: now, reason: 'a voice note is being made' };
  const smsOnly = await awakeAmong(db, line, others.smsOnly, now, postponeSmsOnly);
  const fallbacksDue = await awakeAmong(db, line, others.fallbacksDue, now, postponeFallbacks);
  const claimed = await claimDue(db, state, now, { carrierTimeoutMs, isBrief });
  const { isLong, waitsFor } = claimed;
  const bubbles =
    others.bubbles.length > 0 && !isLong && whyLineWaits(line, now) === null
      ? await claimBubbles(db, row, others.bubbles, carrierTimeoutMs, now)
      : [];
  const claims = [...claimed.claims, ...bubbles];
  // A longer round claims it.
  const actions =
    others.hasActions && !isLong && holds.all?.at !== null
      ? await planActions(db, row, claims.length > 0 ? now : history.lastSentAt, carrierTimeoutMs, now)
      : NO_ACTIONS;
  const sent = claimed.claims.map(({ attempt }) => attempt);
  // Stored now, because the next plan may be made after the hour or day of the cap.
  await storeUsedUp(db, lineId, line.usedUp, usedUpAt(line, afterSends(history, sent), now));

  // A send changes the holds, and so does the outcome of an open attempt.
  const isStable = claims.length === 0 && (state.firstAnswerBy === null || holds.all?.at === null);
  return {
    ...nothing,
    ...nextLook(
      state,
      holds,
      claimed,
      { ...others, nextActionAt: actions.nextAt },
      isStable ? hold : undefined,
      now,
    ),
    claims,
    actions,
    isLong,
    isResting: waitsFor === 'line_resting',
    smsOnly,
    fallbacksDue,
    ...(others.bubbles.length > 0 && {
      nextAt: bubbles.length > 0 ? now : new Date(now.getTime() + CONTENTION_RETRY_MS),
    }),
    // More than were read may be due, and those that others have locked were not postponed.
    ...(fallbacksDue.length < others.fallbacksDue.length && {
      nextAt: new Date(now.getTime() + CONTENTION_RETRY_MS),
    }),
  };
}

/**
 * Brings up to date what is stored and told about a line besides its plan: its reputation, its failover, which caps are used up, and
 * whether and why it sends nothing.
 * @returns `failsOver`: other lines take over messages of this one.
 */
async function noteState(
  db: TenantDb,
  locked: LineRow,
  seal: Pick<MailSeal, 'seal'> | undefined,
  now: Date,
): Promise<{ state: LineState; failsOver: boolean }> {
  const row = await judgeIfDue(db, locked, seal, now);
  const failsOver = hasStopped(row) && (await failOverLater(db, row, now));
  const state = await lineState(db, row, now);
  await storeUsedUp(db, row.id, state.stored, state.line.usedUp);
  await recordHold(db, row, reasonToRecord(state.line, now), now);
  await tellBlocked(db, row, state.line, seal, now);
  return { state, failsOver };
}

const NO_ACTIONS: ActionPlan = { claimed: null, ended: [], nextAt: null };

/** A plan in which the line sends nothing. */
const nothingPlanned = ({ row, isPaused, firstAnswerBy }: LineState) => ({
  claims: [],
  actions: NO_ACTIONS,
  resumesAt: null,
  smsOnly: [],
  fallbacksDue: [],
  awaitsVoiceNotes: false,
  isLong: false,
  isPaused,
  isResting: false,
  firstAnswerBy,
  carrier: row.carrier,
  blockedBy: null,
});

type OutsideQueue = Awaited<ReturnType<typeof workOutsideQueue>> & { nextActionAt: Date | null };

/** When the line plans again, and why not before. */
function nextLook(
  state: LineState,
  holds: LineHolds,
  claimed: Claimed,
  others: OutsideQueue,
  hold: MessageHold | undefined,
  now: Date,
): Pick<SendPlan, 'nextAt' | 'resumesAt' | 'reason' | 'blockedBy' | 'hold'> {
  const { nextAt, waitsFor, leavesMore } = claimed;
  const blockedBy = blockOf(state, holds, claimed, now);
  // Stored with the decision, so that they are sent even if this run of the workflow is lost.
  const owedAgainAt = others.fallbacksDue.length > 0 ? new Date(now.getTime() + FALLBACK_AGAIN_MS) : null;
  const nextOther = [
    others.nextSmsOnlyAt,
    others.nextFallbackAt,
    owedAgainAt,
    others.nextActionAt,
    others.nextBubbleAt,
  ].reduce<Date | null>((a, b) => earliest(a, b), null);
  const isAlone = others.smsOnly.length === 0 && others.fallbacksDue.length === 0;
  const gapEnd = leavesMore && isAlone ? endOfGap(state.line, now) : null;
  const lookAt = nextAt && isCap(waitsFor) ? endOf(hold, nextAt) : nextAt;
  return {
    nextAt: others.smsOnly.length > 0 ? now : earliest(lookAt, nextOther),
    resumesAt: gapEnd && earliest(gapEnd, nextOther),
    reason: blockedBy === null ? claimed.reason : operatorsReason(blockedBy),
    blockedBy,
    hold,
  };
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
const messageHold = ({ all, newContacts }: LineHolds): MessageHold => ({
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

/**
 * Why a due message could not be sent now even if it skipped the queue and all gaps. Requires the line's lock.
 * @returns a text for the operator; null if it could be sent.
 */
export async function whyNotNow(
  db: TenantDb,
  row: LineRow,
  messageId: string,
  now: Date,
): Promise<string | null> {
  const { line } = await lineState(db, row, now);
  const [queued] = await urgentMessages(db, line.id, [messageId], now);
  if (queued?.suppressed) return 'The agency has suppressed the address.';
  const [found] = await findWaits(db, await findMessages(db, [messageId]), now);
  if (!found?.facts) return null;
  const { isNew, isAnswer } = queued ?? found.facts.message;
  const wait = whyItWaits(
    { ...line, lastSentAt: null, changingUntil: null },
    { ...found.facts.message, isNew, isAnswer },
    now,
  );
  return wait === null || wait.reason === 'scheduled' ? null : briefOf(wait.reason);
}
