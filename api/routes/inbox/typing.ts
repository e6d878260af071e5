import { z } from 'zod';
import { showTyping } from '#db/commands/inbox/conversation-actions.ts';
import { ACCEPTED, Accepted } from '#api/routes/messages/message-actions.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { ConversationParams, lockedConversationOf } from './conversations-of-request.ts';

const TypingInput = z.object({ state: z.enum(['on', 'off']) }).meta({ id: 'TypingInput' });

export const typingRoutes = [
  workspaceRoute({
    id: 'showTyping',
    method: 'POST',
    path: '/api/conversations/{address}/typing',
    tag: 'Conversations',
    needsSubscription: true,
    summary: 'Show the contact that somebody types',
    description:
      'Only if the contact wrote within 5 minutes, on the line that they wrote to. It ends by itself after 30 seconds, unless it is repeated.',
    limit: perMinute(600),
    params: ConversationParams,
    body: TypingInput,
    responses: { 202: Accepted },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'UNSUPPORTED_BY_CARRIER'],
    async handler(context) {
      const { db, caller, body, carriers, now } = context;
      const { address } = await lockedConversationOf(context);
      const actorName = caller.actor.name;
      await showTyping(db, { address, isOn: body.state === 'on', actorName }, carriers.capabilitiesOf, now);
      return { status: 202, body: ACCEPTED };
    },
  }),
];
