import { currentTime } from '#domain/base/clock.ts';
import { earliest } from '#domain/base/earliest.ts';
import { newId } from '#domain/base/ids.ts';
import { Refusal } from '#domain/base/refusal.ts';
import type { CapabilitiesOf, Capability } from '#domain/lines/capability.ts';
import {
  ACTION_GAP_MS,
  type ActionOutcome,
  EDIT_WITHIN_MS,
  MAX_EDITS,
  MAX_OPEN_ACTIONS,
  type MessageAction,
  nextAction,
  REACT_WITHIN_MS,
  retryDelayMs,
  tells,
  UNSEND_WITHIN_MS,
} from '#domain/messages/message-action.ts';
import type { ReactionInput } from '#domain/messages/message.ts';
import { shownStatus } from '#domain/messages/message-status.ts';
import { hasOwn, withoutOwnReaction, withOwnReaction } from '#domain/messages/reaction.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import {
  type ActionRow,
  type ActionTarget,
  actionsOf,
  endAction,
  forgetShared,
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
import { isOptedOut } from '#db/queries/contacts/opt-outs.ts';
import { suppressedAmong } from '#db/queries/contacts/suppressions.ts';
import { findLine, type LineRow } from '#db/queries/lines/lines.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { trackLinks } from './message-links.ts';
import { emitEdited, emitReacted, emitUnsent } from './own-changes.ts';

/** Who asks for an action, and what carriers can do. */
export interface ActionRequest {
  actorName: string | null;
  capabilitiesOf: CapabilitiesOf;
  /** Whether a carrier takes any emoji as a reaction, besides the six. */
  reactsWithEmoji: (carrier: string) => boolean;
  /** To which links of ours lead. */
  publicUrl: string;
  now: Date;
}

/** Has a message of ours taken back, once. @throws Refusal */
export async function requestUnsend(db: TenantDb, request: ActionRequest, id: string): Promise<void> {
  const { target, line } = await lockSent(db, request, id, 'unsend', UNSEND_WITHIN_MS);
  if (isBeingUnsent(await actionsOf(db, id), request.now)) return;
  await requestAction(db, request, { target, line }, { kind: 'unsend' }, expiryOf(target, UNSEND_WITHIN_MS));
}

/** Has the text of a message of ours replaced after it was sent. @param text rendered. @returns the action. @throws Refusal */
export async function requestEdit(
  db: TenantDb,
  request: ActionRequest,
  id: string,
  text: string,
): Promise<string> {
  const { target, line } = await lockSent(db, request, id, 'edit', EDIT_WITHIN_MS);
  if (!target.hasText) throw refused('The message has no text');
  const actions = await actionsOf(db, id);
  if (isBeingUnsent(actions, request.now)) throw refused(BEING_UNSENT);
  const edits = actions.filter(({ action, status }) => action.kind === 'edit' && status !== 'failed');
  if (edits.length >= MAX_EDITS) throw refused(`A message can be edited ${MAX_EDITS} times`);
  return requestAction(
    db,
    request,
    { target, line },
    { kind: 'edit', text: await trackLinks(db, target, text, request.publicUrl) },
    expiryOf(target, EDIT_WITHIN_MS),
  );
}

/** Reacts to a message of a contact or of ours, or removes a reaction of ours. @throws Refusal */
export async function requestReaction(
  db: TenantDb,
  request: ActionRequest,
  id: string,
  { remove = false, ...reaction }: ReactionInput,
): Promise<void> {
  const target = await lockTarget(db, id);
  if (!target) throw notFound();
  requireSent(target);
  if (isBeingUnsent(await actionsOf(db, id), request.now)) throw refused(BEING_UNSENT);
  const line = await requireCapability(db, request, target.lineId, 'reactions');
  if (reaction.emoji !== undefined && !request.reactsWithEmoji(line.carrier))
    throw unsupported('reactions', 'The carrier of the line can react with the six only');
  if (remove && !hasOwn(target.reactions, { ...reaction, from: '', at: '' }))
    throw refused('There is no such reaction of yours');
  const action = { kind: 'reaction', ...reaction, removed: remove } as const;
  await requestAction(
    db,
    request,
    { target, line },
    action,
    new Date(request.now.getTime() + REACT_WITHIN_MS),
  );
}

/** Whether nobody may write to an address: it opted out, or its agency suppresses it. */
export const isOptedOutOrSuppressed = async (db: TenantDb, address: string): Promise<boolean> =>
  (await isOptedOut(db, address)) || (await suppressedAmong(db, [address])).size > 0;

const refused = (text: string): Refusal => new Refusal('INVALID_STATE', null, text);
const notFound = (): Refusal => new Refusal('NOT_FOUND', null, 'Message not found');
const unsupported = (capability: Capability, text: string | null = null): Refusal =>
  new Refusal('UNSUPPORTED_BY_CARRIER', null, text, { capability });

const BEING_UNSENT = 'The message is being taken back';

/** Not by a call that a crash has ended. */
const isBeingUnsent = (actions: readonly ActionRow[], now: Date): boolean =>
  actions.some(
    (row) =>
      row.action.kind === 'unsend' &&
      (row.status === 'pending' || row.status === 'calling') &&
      endOf(row, now) === null,
  );

/** @throws Refusal unless the contact has the message. */
function requireSent({ direction, status, carrierMessageId, unsentAt }: ActionTarget): void {
  if (unsentAt !== null) throw refused('The message was taken back');
  if (direction === 'in') return;
  if (carrierMessageId === null || (status !== 'sent' && status !== 'delivered'))
    throw refused(`The message is ${status && shownStatus(status)}`);
}

/** A message of ours that was sent no longer ago, and its line, which can do it. */
async function lockSent(
  db: TenantDb,
  request: ActionRequest,
  id: string,
  capability: Capability,
  withinMs: number,
): Promise<{ target: ActionTarget; line: LineRow }> {
  const target = await lockTarget(db, id);
  if (target?.direction !== 'out') throw notFound();
  requireSent(target);
  const line = await requireCapability(db, request, target.lineId, capability);
  if (expiryOf(target, withinMs) <= request.now)
    throw refused(`The message was sent more than ${withinMs / 60_000} minutes ago`);
  return { target, line };
}

const expiryOf = ({ sentAt }: ActionTarget, withinMs: number): Date =>
  new Date((sentAt?.getTime() ?? 0) + withinMs);

/** A line that has been deleted can do nothing. */
async function requireCapability(
  db: TenantDb,
  { capabilitiesOf }: ActionRequest,
  lineId: string | null,
  capability: Capability,
): Promise<LineRow> {
  const line = lineId === null ? null : await findLine(db, lineId);
  if (!line || !capabilitiesOf(line).includes(capability)) throw unsupported(capability);
  return line;
}

/** Has the pacer of the line carry out an action. Requires the target's lock. @returns its id. @throws Refusal */
async function requestAction(
  db: TenantDb,
  { actorName, now }: ActionRequest,
  { target, line }: { target: ActionTarget; line: LineRow },
  action: MessageAction,
  expiresAt: Date,
): Promise<string> {
  if (tells(action) && (await isOptedOutOrSuppressed(db, target.address)))
    throw refused('The contact may not be written to');
  if ((await openActions(db, line.id)).length >= MAX_OPEN_ACTIONS)
    throw new Refusal('LIMIT_REACHED', null, 'The line has too many reactions and edits waiting');
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
  return id;
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
  const row = nextAction(open, now);
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
  const nextAt = open.length > 1 ? new Date(now.getTime() + ACTION_GAP_MS) : null;
  return { claimed: { row, line, answerBy }, ended, nextAt };
}

/** The reason of an action that may have been carried out. */
const UNKNOWN = 'outcome_unknown';
export const TOO_LATE = 'too_late';

/** What may have been carried out is not repeated. */
function endOf({ status, answerBy, expiresAt }: ActionRow, now: Date): string | null {
  if (status === 'calling')
    return answerBy !== null && answerBy.getTime() + CRASHED_AFTER_MS <= now.getTime() ? UNKNOWN : null;
  return expiresAt <= now ? TOO_LATE : null;
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
  const reason = isDone ? null : outcome.kind === 'unknown' ? UNKNOWN : outcome.reason;
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
  } else if (isDone && action.kind === 'unsend') {
    await markUnsent(db, target.id, now);
    await emitUnsent(db, target, now);
  } else if (!isDone && action.kind === 'contact_card' && reason !== UNKNOWN)
    await forgetShared(db, { lineId: row.lineId, address: target.address });
}

/** A message that has not reached its contact is edited or taken back without its carrier. Requires the message's lock. */
export async function settleOwnChanges(db: TenantDb, messageId: string): Promise<void> {
  for (const row of await actionsOf(db, messageId)) {
    const isOpen = row.status === 'pending' || row.status === 'calling';
    if (!isOpen || (row.action.kind !== 'edit' && row.action.kind !== 'unsend')) continue;
    const line = await findLine(db, row.lineId);
    if (line) await settleAction(db, row, line, { kind: 'accepted' });
  }
}

/** Ends the actions of a line that leaves the workspace. */
export async function abandonActions(db: TenantDb, line: LineRow): Promise<void> {
  for (const row of await openActions(db, line.id))
    await settleAction(db, row, line, { kind: 'refused', reason: 'line_left' });
}
