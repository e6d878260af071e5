import { currentTime } from '#domain/base/clock.ts';
import { earliest } from '#domain/base/earliest.ts';
import { newId } from '#domain/base/ids.ts';
import {
  ACTION_GAP_MS,
  type ActionOutcome,
  type MessageAction,
  retryDelayMs,
} from '#domain/messages/message-action.ts';
import { withoutOwnReaction, withOwnReaction } from '#domain/messages/reaction.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import {
  type ActionRow,
  type ActionTarget,
  endAction,
  insertAction,
  lastActionAt,
  lockTarget,
  markEdited,
  markUnsent,
  openActions,
  postponeAction,
  startAction,
  storeReactions,
} from '#db/queries/messages/message-actions.ts';
import type { LineRow } from '#db/queries/lines/lines.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { emitEdited, emitReacted, emitUnsent } from './own-changes.ts';

/** Has the pacer of the line carry out an action. Requires the target's lock. */
export async function requestAction(
  db: TenantDb,
  target: ActionTarget,
  line: LineRow,
  { action, actorName, expiresAt }: { action: MessageAction; actorName: string | null; expiresAt: Date },
  now: Date,
): Promise<void> {
  const id = newId(now);
  await insertAction(db, {
    id,
    lineId: line.id,
    messageId: target.id,
    action,
    actorName,
    dueAt: now,
    expiresAt,
  });
  if (action.kind === 'reaction' && !action.removed)
    await storeReactions(
      db,
      target,
      withOwnReaction(target.reactions, ownReaction(action, line, now), 'pending'),
    );
  wake(db, linePacerId(line.id), now, 'messagesDue');
}

const ownReaction = (
  { reaction, emoji }: Extract<MessageAction, { kind: 'reaction' }>,
  { phone, email }: Pick<LineRow, 'phone' | 'email'>,
  at: Date,
) => ({
  reaction,
  ...(emoji !== undefined && { emoji }),
  from: phone ?? email ?? '',
  at: at.toISOString(),
});

/** An action that is to be carried out now. */
export interface ClaimedAction {
  row: ActionRow;
  line: LineRow;
  answerBy: Date;
}

export interface ActionPlan {
  claimed: ClaimedAction | null;
  /** Those that have ended without an answer, and why. */
  ended: readonly { row: ActionRow; line: LineRow; reason: string }[];
  /** When to look again; null: nothing is left. */
  nextAt: Date | null;
}

/** A call ends before its `answerBy`; its result is committed soon after, unless the process has crashed. */
const CRASHED_AFTER_MS = 60_000;

/**
 * Chooses the next action of a line: one after the other, in order, with a gap. Requires the line's lock, and changes no message, so that
 * no round waits for others' locks.
 * @param lastSentAt when the line last sent a message.
 */
export async function planActions(
  db: TenantDb,
  line: LineRow,
  lastSentAt: Date | null,
  carrierTimeoutMs: number,
  now: Date,
): Promise<ActionPlan> {
  const ended: ActionPlan['ended'][number][] = [];
  const open = (await openActions(db, line.id)).filter((row) => {
    const reason = endOf(row, now);
    if (reason !== null) ended.push({ row, line, reason });
    return reason === null;
  });
  const [row, ...others] = open;
  if (!row) return { claimed: null, ended, nextAt: null };
  if (row.status === 'calling' && row.answerBy !== null)
    return { claimed: null, ended, nextAt: new Date(row.answerBy.getTime() + CRASHED_AFTER_MS) };
  const gapEnds = [lastSentAt, await lastActionAt(db, line.id)].map((at) =>
    at === null ? 0 : at.getTime() + ACTION_GAP_MS,
  );
  const at = new Date(Math.max(row.dueAt.getTime(), ...gapEnds));
  if (at > now) return { claimed: null, ended, nextAt: earliest(at, row.expiresAt) };
  const answerBy = new Date(now.getTime() + carrierTimeoutMs);
  await startAction(db, row.id, { startedAt: now, answerBy });
  const nextAt = others.length > 0 ? new Date(now.getTime() + ACTION_GAP_MS) : null;
  return { claimed: { row, line, answerBy }, ended, nextAt };
}

/** What may have been carried out is not repeated. */
function endOf({ status, answerBy, expiresAt }: ActionRow, now: Date): string | null {
  if (status === 'calling')
    return answerBy !== null && answerBy.getTime() + CRASHED_AFTER_MS <= now.getTime()
      ? 'outcome_unknown'
      : null;
  return expiresAt <= now ? 'too_late' : null;
}

/** Commits the result of an action with what follows from it. */
export async function settleAction(
  db: TenantDb,
  row: ActionRow,
  line: LineRow,
  outcome: ActionOutcome,
): Promise<void> {
  const now = currentTime();
  if (outcome.kind === 'transient') {
    const dueAt = new Date(now.getTime() + retryDelayMs(row.failures));
    if (dueAt < row.expiresAt) return postponeAction(db, row.id, dueAt);
  }
  const target = await lockTarget(db, row.messageId);
  const isDone = outcome.kind === 'accepted';
  const reason = isDone ? null : outcome.kind === 'unknown' ? 'outcome_unknown' : outcome.reason;
  if (!(await endAction(db, row.id, { status: isDone ? 'done' : 'failed', reason, now })) || !target) return;
  const { action } = row;
  if (action.kind === 'reaction') {
    const own = ownReaction(action, line, isDone ? now : row.createdAt);
    const { reactions } = target;
    if (isDone)
      await storeReactions(
        db,
        target,
        action.removed ? withoutOwnReaction(reactions, own) : withOwnReaction(reactions, own, 'sent'),
      );
    else if (!action.removed) await storeReactions(db, target, withOwnReaction(reactions, own, 'failed'));
    if (isDone) await emitReacted(db, target, action, now);
  } else if (isDone && action.kind === 'edit') {
    await markEdited(db, target.id, action.text, now);
    await emitEdited(db, target, action.text, now);
  } else if (isDone) {
    await markUnsent(db, target.id, now);
    await emitUnsent(db, target, now);
  }
}

/** Ends the actions of a line that leaves the workspace. */
export async function abandonActions(db: TenantDb, line: LineRow): Promise<void> {
  for (const row of await openActions(db, line.id))
    await settleAction(db, row, line, { kind: 'refused', reason: 'line_left' });
}
