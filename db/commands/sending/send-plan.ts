import type { MailSeal } from '#db/commands/events/mails.ts';
import { recordBlock } from '#db/commands/lines/line-block.ts';
import { failOverLater, hasStopped } from '#db/commands/lines/line-failover.ts';
import { judgeIfDue } from '#db/commands/lines/line-reputation.ts';
import { planActions } from '#db/commands/messages/message-actions.ts';
import { type LineRow, lockLine } from '#db/queries/lines/lines.ts';
import { findMessages } from '#db/queries/messages/messages.ts';
import { findWaits } from '#db/queries/messages/shown-messages.ts';
import { recordHold } from '#db/queries/sending/line-holds.ts';
import { urgentMessages, workOutsideQueue } from '#db/queries/sending/queue.ts';
import { postponeFallbacks, postponeSmsOnly } from '#db/queries/sending/queue-changes.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Look } from '#db/wakes/decisions.ts';
import { VOICE_NOTES_AHEAD_MS } from '#domain/messages/voice-note.ts';
import { usedUpAt } from '#domain/sending/holds.ts';
import { afterSends, holdsOf, type LineHolds } from '#domain/sending/pacing.ts';
import { briefOf, type LineReason } from '#domain/sending/wait-reasons.ts';
import { reasonToRecord, whyItWaits, whyLineWaits, workspaceStop } from '#domain/sending/why-it-waits.ts';
import { withoutQuietHours } from './awake-recipients.ts';
import { claimDue, operatorsReason } from './claim-due.ts';
import { type LineState, lineState, storeUsedUp } from './line-state.ts';
import { type BesidesQueue, messageHold, NO_ACTIONS, nextLook } from './next-look.ts';
import { claimBubbles, type StartedAttempt } from './send-claim.ts';

/** Until somebody corrects the keys of the process. */
const UNREADABLE_AGAIN_MS = 60_000;
const UNREADABLE = 'the settings of the line cannot be decrypted: ENCRYPTION_KEYS lacks a key';

export interface SendPlan extends Look {
  claims: StartedAttempt[];
  /** When the line may send again, if the carrier accepts all claims; null: only a new plan can tell. */
  resumesAt: Date | null;
  /** What is done to messages that were exchanged: one at a time. */
  actions: Pick<BesidesQueue['actions'], 'claimed' | 'ended'>;
  /** Messages to send as SMS immediately, without the line. */
  smsOnly: string[];
  /** Messages whose fallback SMS has not been sent yet. */
  fallbacksDue: string[];
  /** Nothing was claimed, because voice notes that are due soon may have to be created first. */
  awaitsVoiceNotes: boolean;
  /** Nothing was claimed, because more messages may be sent now than a round within a workflow task sends. */
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

interface PlanOptions {
  /** The voice notes that are due soon have been created. */
  hasVoiceNotes?: boolean;
  /** The round is within a workflow task: claims nothing if more than a few messages may be sent now. */
  inTask?: boolean;
  /** Encrypts an email about the line's reputation; without it, none is written. */
  seal?: Pick<MailSeal, 'seal'>;
  /** Whether the settings of the line can be decrypted; otherwise nothing is claimed. */
  canCall?: (row: LineRow) => boolean;
}

/**
 * Decides under the line's lock what the line sends now, and commits that decision with its attempts, so caps, gaps and
 * windows hold under concurrency. While it holds that lock, it skips rows that others have locked and reads them again
 * shortly afterwards.
 * @param clock read after the line is locked, so that messages that became due while the plan waited for the lock are included.
 * @returns null if the line is no longer in this workspace.
 */
export async function planSends(
  db: TenantDb,
  lineId: string,
  carrierTimeoutMs: number,
  clock: () => Date,
  { hasVoiceNotes = false, inTask = false, seal, canCall = () => true }: PlanOptions = {},
): Promise<SendPlan | null> {
  const locked = await lockLine(db, lineId);
  if (!locked) return null;
  const now = clock();
  const { state, failsOver } = await noteState(db, locked, seal, now);
  const nothing = nothingPlanned(state);
  const holds = holdsOf(state.line, state.history, now);
  const hold = failsOver ? undefined : messageHold(holds);
  const standstill = standstillOf(state, { all: holds.all, hold }, canCall, now);
  if (standstill) return { ...nothing, ...standstill };

  const voiceNotesUntil = new Date(now.getTime() + VOICE_NOTES_AHEAD_MS);
  const due = whileLineWaits(state, await workOutsideQueue(db, lineId, { now, voiceNotesUntil }), now);
  if (due.hasVoiceNotes && !hasVoiceNotes)
    return { ...nothing, awaitsVoiceNotes: true, nextAt: now, reason: 'a voice note is being made' };
  const smsOnly = await withoutQuietHours(db, state.line, due.smsOnly, now, postponeSmsOnly);
  const fallbacks = await withoutQuietHours(db, state.line, due.fallbacksDue, now, postponeFallbacks);
  const claimed = await claimDue(db, state, now, { carrierTimeoutMs, inTask });
  // A longer round claims the rest.
  const { bubbles, actions } = claimed.isLong
    ? NOTHING_BESIDES
    : await claimBesides(
        db,
        state,
        holds,
        { due, hasClaims: claimed.claims.length > 0 },
        carrierTimeoutMs,
        now,
      );
  await noteUsedUp(db, state, claimed.claims, now);

  const besides = { due, hasPostponed: fallbacks.postponed > 0, bubbles, actions };
  return {
    ...nothing,
    ...nextLook(state, holds, claimed, besides, hold, now),
    claims: [...claimed.claims, ...bubbles],
    actions,
    isLong: claimed.isLong,
    isResting: claimed.waitsFor === 'line_resting',
    smsOnly: smsOnly.awake,
    fallbacksDue: fallbacks.awake,
  };
}

/** While the line sends nothing, bubbles that are due wait as long as its queue. */
function whileLineWaits({ line }: LineState, due: BesidesQueue['due'], now: Date): BesidesQueue['due'] {
  const wait = due.bubbles.length > 0 ? whyLineWaits(line, now) : null;
  return wait ? { ...due, bubbles: [], nextBubbleAt: wait.until } : due;
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
  await recordBlock(db, row, state.line, seal, now);
  return { state, failsOver };
}

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

/** Why the line sends nothing at all, whatever is due, and when to look again; null: it may send. */
function standstillOf(
  { row, line, isPaused }: LineState,
  { all, hold }: Pick<LineHolds, 'all'> & Pick<SendPlan, 'hold'>,
  canCall: (row: LineRow) => boolean,
  now: Date,
): (Look & Pick<SendPlan, 'blockedBy'>) | null {
  if (row.heldUntil !== null && row.heldUntil > now)
    return { nextAt: row.heldUntil, reason: operatorsReason('line_changing'), blockedBy: null };
  const isStopped = workspaceStop(line) !== null;
  if ((isStopped || isPaused) && all) {
    const { reason } = all;
    return { nextAt: null, reason: operatorsReason(reason), blockedBy: isStopped ? reason : null, hold };
  }
  if (!canCall(row)) {
    const nextAt = new Date(now.getTime() + UNREADABLE_AGAIN_MS);
    return { nextAt, reason: UNREADABLE, blockedBy: 'carrier_pause' };
  }
  return null;
}

const NOTHING_BESIDES: Pick<BesidesQueue, 'bubbles' | 'actions'> = { bubbles: [], actions: NO_ACTIONS };

/** Claims what does not wait in the queue: the further texts of messages that were sent, and the next action. */
async function claimBesides(
  db: TenantDb,
  { row, history }: LineState,
  { all }: LineHolds,
  { due, hasClaims }: { due: BesidesQueue['due']; hasClaims: boolean },
  carrierTimeoutMs: number,
  now: Date,
): Promise<Pick<BesidesQueue, 'bubbles' | 'actions'>> {
  const bubbles =
    due.bubbles.length > 0 ? await claimBubbles(db, row, due.bubbles, carrierTimeoutMs, now) : [];
  if (!due.hasActions || all?.at === null) return { bubbles, actions: NO_ACTIONS };
  const lastSentAt = hasClaims || bubbles.length > 0 ? now : history.lastSentAt;
  return { bubbles, actions: await planActions(db, row, lastSentAt, carrierTimeoutMs, now) };
}

/** Stores which caps these sends use up now, because the next plan may be made after the hour or day of the cap. */
async function noteUsedUp(
  db: TenantDb,
  { line, history }: LineState,
  claims: readonly StartedAttempt[],
  now: Date,
): Promise<void> {
  const sent = claims.map(({ attempt }) => attempt);
  await storeUsedUp(db, line.id, line.usedUp, usedUpAt(line, afterSends(history, sent), now));
}

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
