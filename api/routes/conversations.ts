import { z } from 'zod';
import {
  findConversation,
  listConversations,
  listThread,
  presentConversations,
  presentThread,
  setTags,
} from '#db/queries/conversations.ts';
import { notifyPositive } from '#db/commands/outbox/notifications.ts';
import type { TenantDb } from '#db/transactions.ts';
import { normalizeAddress } from '#domain/address.ts';
import type { WorkspaceCaller } from '#domain/caller.ts';
import { Conversation, TagsInput, ThreadItem } from '#domain/conversation.ts';
import { pageBy, PositionQuery } from '../http/cursor.ts';
import { ApiError } from '../http/errors.ts';
import { NextCursor } from '../http/page.ts';
import { workspaceRoute } from '../http/route.ts';

const ConversationParams = z.object({
  address: z.string().max(320).meta({ description: 'A phone number or an email address.' }),
});

export const conversationRoutes = [
  workspaceRoute({
    id: 'listConversations',
    method: 'GET',
    path: '/api/conversations',
    tag: 'Conversations',
    summary: 'List conversations, most recent activity first',
    query: PositionQuery,
    responses: {
      200: z.object({
        success: z.literal(true),
        conversations: z.array(Conversation),
        nextCursor: NextCursor,
      }),
    },
    async handler({ db, query: { limit, cursor } }) {
      const rows = await listConversations(db, { limit: limit + 1, after: cursor ?? null });
      const { items, nextCursor } = pageBy(rows, limit, ({ activeAt, address }) => ({
        at: activeAt ?? new Date(0),
        key: address,
      }));
      return {
        status: 200,
        body: { success: true, conversations: await presentConversations(db, items), nextCursor },
      };
    },
  }),

  workspaceRoute({
    id: 'getConversation',
    method: 'GET',
    path: '/api/conversations/{address}',
    tag: 'Conversations',
    summary: 'Get a conversation with its messages, newest first',
    params: ConversationParams,
    query: PositionQuery,
    responses: {
      200: z.object({
        success: z.literal(true),
        conversation: Conversation,
        messages: z.array(ThreadItem),
        nextCursor: NextCursor,
      }),
    },
    errors: ['NOT_FOUND'],
    async handler({ db, caller, now, links, params, query: { limit, cursor } }) {
      const conversation = await conversationWith(db, caller, params.address);
      const rows = await listThread(db, conversation.address, { limit: limit + 1, after: cursor ?? null });
      const { items, nextCursor } = pageBy(rows, limit, ({ at, id }) => ({ at, key: id }));
      return {
        status: 200,
        body: {
          success: true,
          conversation,
          messages: await presentThread(db, items, links, now),
          nextCursor,
        },
      };
    },
  }),

  workspaceRoute({
    id: 'tagConversation',
    method: 'POST',
    path: '/api/conversations/{address}/tags',
    tag: 'Conversations',
    summary: 'Replace the tags of a conversation',
    params: ConversationParams,
    body: TagsInput,
    responses: { 200: z.object({ success: z.literal(true), conversation: Conversation }) },
    errors: ['NOT_FOUND'],
    async handler({ db, caller, params, body, now }) {
      const conversation = await conversationWith(db, caller, params.address);
      await setTags(db, conversation.address, body.tags);
      await notifyPositive(db, conversation.address, now);
      return { status: 200, body: { success: true, conversation: { ...conversation, tags: body.tags } } };
    },
  }),
];

/** @throws NOT_FOUND if there are no messages, sent or scheduled, from or to the address. */
async function conversationWith(db: TenantDb, caller: WorkspaceCaller, text: string): Promise<Conversation> {
  const address = normalizeAddress(text, caller.workspace.country) ?? text.trim().toLowerCase();
  const row = await findConversation(db, address);
  const [conversation] = row ? await presentConversations(db, [row]) : [];
  if (!conversation) throw new ApiError('NOT_FOUND', 'Conversation not found');
  return conversation;
}
