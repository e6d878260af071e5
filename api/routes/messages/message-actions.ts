import { z } from 'zod';
import { requestAction } from '#db/commands/messages/message-actions.ts';
import { findLine, type LineRow } from '#db/queries/lines/lines.ts';
import {
  type ActionTarget,
  actionsOf,
  lockTarget,
  openActions,
} from '#db/queries/messages/message-actions.ts';
import { isOptedOut } from '#db/queries/contacts/opt-outs.ts';
import { suppressedAmong } from '#db/queries/contacts/suppressions.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { Id } from '#domain/base/ids.ts';
import type { Capability } from '#domain/lines/capability.ts';
import {
  EDIT_WITHIN_MS,
  MAX_EDITS,
  MAX_OPEN_ACTIONS,
  type MessageAction,
  REACT_WITHIN_MS,
  UNSEND_WITHIN_MS,
} from '#domain/messages/message-action.ts';
import { ReactionInput } from '#domain/messages/message.ts';
import { hasOwn } from '#domain/messages/reaction.ts';
import { shownStatus } from '#domain/messages/message-status.ts';
import { ApiError } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import type { Services } from '#api/services.ts';

/** The pacer of the line carries it out. */
export const Accepted = z.object({ success: z.literal(true), status: z.literal('pending') });
export const ACCEPTED = { success: true, status: 'pending' } as const;

const params = z.object({ id: Id });

interface Request extends Pick<Services, 'carriers'> {
  db: TenantDb;
  caller: WorkspaceCaller;
  now: Date;
}

export const messageActionRoutes = [
  workspaceRoute({
    id: 'unsendMessage',
    method: 'POST',
    path: '/api/messages/{id}/unsend',
    tag: 'Messages',
    needsSubscription: true,
    summary: 'Take back a message, within 2 minutes after it was sent',
    description:
      'The message has `unsentAt` once its carrier has taken it back, and the event `message.unsent` with `direction: "out"` tells. A message that has not been sent yet can be canceled.',
    params,
    responses: { 202: Accepted },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'UNSUPPORTED_BY_CARRIER', 'LIMIT_REACHED'],
    audit: { action: 'message.unsent', target: 'message' },
    async handler({ params: { id }, ...request }) {
      const { target, line } = await lockSent(request, id, 'unsend', UNSEND_WITHIN_MS);
      await act(request, { target, line }, { kind: 'unsend' }, expiryOf(target, UNSEND_WITHIN_MS));
      return { status: 202, body: ACCEPTED };
    },
  }),

  workspaceRoute({
    id: 'reactToMessage',
    method: 'POST',
    path: '/api/messages/{id}/reactions',
    tag: 'Messages',
    needsSubscription: true,
    summary: 'React to a message of a contact or of ours',
    description:
      'The reaction is sent like a message, with a gap of 2 seconds, and counts in no limit. `reactions` of the message show it as `pending`, then as `sent` or `failed`; the event `message.reaction` with `direction: "out"` tells. A new reaction replaces the one before.',
    params,
    body: ReactionInput,
    idempotent: true,
    responses: { 202: Accepted },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'UNSUPPORTED_BY_CARRIER', 'LIMIT_REACHED'],
    async handler({ params: { id }, body: { remove = false, ...reaction }, ...request }) {
      const { db, carriers, now } = request;
      const target = await lockTarget(db, id);
      if (!target) throw notFound();
      requireSent(target);
      const line = await requireCapability(request, target.lineId, 'reactions');
      if (reaction.emoji !== undefined && !carriers.get(line.carrier).reactsWithEmoji)
        throw new ApiError('UNSUPPORTED_BY_CARRIER', 'The carrier of the line can react with the six only', {
          capability: 'reactions',
        });
      if (remove && !hasOwn(target.reactions, { ...reaction, from: '', at: '' }))
        throw new ApiError('INVALID_STATE', 'There is no such reaction of yours');
      if ((await isOptedOut(db, target.address)) || (await suppressedAmong(db, [target.address])).size > 0)
        throw new ApiError('INVALID_STATE', 'The contact may not be written to');
      const action = { kind: 'reaction', ...reaction, removed: remove } as const;
      await act(request, { target, line }, action, new Date(now.getTime() + REACT_WITHIN_MS));
      return { status: 202, body: ACCEPTED };
    },
  }),
];

/** Has the text of a message of ours replaced after it was sent. @param text rendered. */
export async function requestEdit(request: Request, id: string, text: string): Promise<void> {
  const { target, line } = await lockSent(request, id, 'edit', EDIT_WITHIN_MS);
  if (!target.hasText) throw new ApiError('INVALID_STATE', 'The message has no text');
  const edits = (await actionsOf(request.db, id)).filter(
    ({ action, status }) => action.kind === 'edit' && status !== 'failed',
  );
  if (edits.length >= MAX_EDITS)
    throw new ApiError('INVALID_STATE', `A message can be edited ${MAX_EDITS} times`);
  await act(request, { target, line }, { kind: 'edit', text }, expiryOf(target, EDIT_WITHIN_MS));
}

const notFound = (): ApiError => new ApiError('NOT_FOUND', 'Message not found');

/** @throws unless the contact has the message. */
function requireSent({ direction, status, carrierMessageId, unsentAt }: ActionTarget): void {
  if (unsentAt !== null) throw new ApiError('INVALID_STATE', 'The message was taken back');
  if (direction === 'in') return;
  if (carrierMessageId === null || (status !== 'sent' && status !== 'delivered'))
    throw new ApiError('INVALID_STATE', `The message is ${status && shownStatus(status)}`);
}

/** A message of ours that was sent no longer ago, and its line, which can do it. */
async function lockSent(
  request: Request,
  id: string,
  capability: Capability,
  withinMs: number,
): Promise<{ target: ActionTarget; line: LineRow }> {
  const target = await lockTarget(request.db, id);
  if (target?.direction !== 'out') throw notFound();
  requireSent(target);
  const line = await requireCapability(request, target.lineId, capability);
  if (expiryOf(target, withinMs) <= request.now)
    throw new ApiError('INVALID_STATE', `The message was sent more than ${withinMs / 60_000} minutes ago`);
  return { target, line };
}

const expiryOf = ({ sentAt }: ActionTarget, withinMs: number): Date =>
  new Date((sentAt?.getTime() ?? 0) + withinMs);

/** A line that has been deleted can do nothing. */
async function requireCapability(
  { db, carriers }: Request,
  lineId: string | null,
  capability: Capability,
): Promise<LineRow> {
  const line = lineId === null ? null : await findLine(db, lineId);
  if (!line || !carriers.capabilitiesOf(line).includes(capability))
    throw new ApiError('UNSUPPORTED_BY_CARRIER', undefined, { capability });
  return line;
}

async function act(
  { db, caller, now }: Request,
  { target, line }: { target: ActionTarget; line: LineRow },
  action: MessageAction,
  expiresAt: Date,
): Promise<void> {
  if ((await openActions(db, line.id)).length >= MAX_OPEN_ACTIONS)
    throw new ApiError('LIMIT_REACHED', 'The line has too many reactions and edits waiting');
  await requestAction(db, target, line, { action, actorName: caller.actor.name, expiresAt }, now);
}
