import { z } from 'zod';
import { type ActionRequest, requestReaction, requestUnsend } from '#db/commands/messages/message-actions.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { Id } from '#domain/base/ids.ts';
import { ReactionInput } from '#domain/messages/message.ts';
import { workspaceRoute } from '#api/http/route.ts';
import type { Services } from '#api/services.ts';

/** The pacer of the line carries it out. */
export const Accepted = z.object({ success: z.literal(true), status: z.literal('pending') });
export const ACCEPTED = { success: true, status: 'pending' } as const;

const params = z.object({ id: Id });

export const messageActionRoutes = [
  workspaceRoute({
    id: 'unsendMessage',
    method: 'POST',
    path: '/api/messages/{id}/unsend',
    tag: 'Messages',
    needsSubscription: true,
    summary: 'Take back a message, within 2 minutes after it was sent',
    description:
      'The message has `unsentAt` once its carrier has taken it back, and the event `message.unsent` with `direction: "out"` reports it. A message that has not been sent yet can be canceled.',
    params,
    responses: { 202: Accepted },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'UNSUPPORTED_BY_CARRIER', 'LIMIT_REACHED'],
    audit: { action: 'message.unsent', target: 'message' },
    async handler({ params: { id }, db, ...request }) {
      await requestUnsend(db, actionRequest(request), id);
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
      'The reaction is sent like a message, with a gap of 2 seconds, and counts in no limit. `reactions` of the message show it as `pending`, then as `sent` or `failed`; the event `message.reaction` with `direction: "out"` reports it. A new reaction replaces the one before.',
    params,
    body: ReactionInput,
    idempotent: true,
    responses: { 202: Accepted },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'UNSUPPORTED_BY_CARRIER', 'LIMIT_REACHED'],
    async handler({ params: { id }, body, db, ...request }) {
      await requestReaction(db, actionRequest(request), id, body);
      return { status: 202, body: ACCEPTED };
    },
  }),
];

/** Who asks for an action, and what carriers can do. */
export const actionRequest = ({
  caller,
  carriers,
  config,
  now,
}: Pick<Services, 'carriers' | 'config'> & { caller: WorkspaceCaller; now: Date }): ActionRequest => ({
  actorName: caller.actor.name,
  capabilitiesOf: carriers.capabilitiesOf,
  reactsWithEmoji: (carrier) => carriers.get(carrier).reactsWithEmoji ?? false,
  publicUrl: config.publicUrl,
  now,
});
