import { z } from 'zod';
import { realTime } from '#domain/base/clock.ts';
import {
  type Presence,
  PRESENCE_EVENT,
  PRESENCE_SECONDS,
  PresenceInput,
  PresentPerson,
} from '#domain/inbox/presence.ts';
import { conversationOf, ConversationParams } from './conversations-of-request.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';

export const conversationPresenceRoutes = [
  workspaceRoute({
    id: 'reportPresence',
    method: 'POST',
    path: '/api/conversations/{address}/presence',
    tag: 'Conversations',
    credential: 'session',
    summary: 'Tell the other members that the signed-in user is viewing or answering a conversation',
    description: `It is shown for ${PRESENCE_SECONDS} seconds, so report it every ten, and \`left\` at the end. Nothing is stored: streams of \`GET /api/events/stream?presence=true\` get the event \`${PRESENCE_EVENT}\`, and the response says who else is there.`,
    limit: perMinute(1200),
    params: ConversationParams,
    body: PresenceInput,
    responses: { 200: z.object({ success: z.literal(true), others: z.array(PresentPerson) }) },
    errors: ['NOT_FOUND'],
    async handler(context) {
      const { db, caller, body, presence: board } = context;
      const { address } = await conversationOf(context);
      const workspaceId = caller.workspace.id;
      const userId = caller.userId ?? '';
      const at = realTime();
      const presence: Presence = {
        event: PRESENCE_EVENT,
        timestamp: at.toISOString(),
        workspaceId,
        address,
        userId,
        name: caller.actor.name,
        state: body.state,
        expiresAt: new Date(at.getTime() + PRESENCE_SECONDS * 1000).toISOString(),
      };
      await board.tell(db, presence);
      return { status: 200, body: { success: true, others: board.others({ workspaceId, address }, userId) } };
    },
  }),
];
