import { z } from 'zod';
import { sendReadReceipt } from '#db/commands/inbox/conversation-actions.ts';
import { changeConversations } from '#db/commands/inbox/conversation-changes.ts';
import { auditedContact } from '#db/queries/accounts/audit-log.ts';
import { countConversations } from '#db/queries/inbox/conversation-counts.ts';
import { conditionsOf, countUnread } from '#db/queries/inbox/conversation-filters.ts';
import { markRead, markUnread, type Reader, readerOf } from '#db/queries/inbox/conversation-reads.ts';
import { listConversations, presentConversations, setTags } from '#db/queries/inbox/conversations.ts';
import { listThread, presentThread } from '#db/queries/inbox/thread.ts';
import { availableMembers } from '#db/queries/inbox/absences.ts';
import { findInboxMember } from '#db/queries/inbox/inbox-members.ts';
import { notifyPositive } from '#db/commands/events/notifications.ts';
import {
  Conversation,
  ConversationCounts,
  ConversationFilters,
  ConversationPatch,
  MAX_UNREAD,
  TagsInput,
  ThreadItem,
} from '#domain/inbox/conversation.ts';
import { conversationOf, ConversationParams, lockedConversationOf } from './conversations-of-request.ts';
import { pageBy, PositionQuery } from '#api/http/cursor.ts';
import { triggerRules } from '#db/commands/inbox/rule-triggers.ts';
import { newTags } from '#domain/inbox/bulk-conversations.ts';
import { dealOut } from '#domain/inbox/round-robin.ts';
import { nobodyAvailable } from './assignment.ts';
import { invalid } from '#api/http/errors.ts';
import { NextCursor } from '#api/http/page.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';

const OneConversation = z.object({ success: z.literal(true), conversation: Conversation });

/** The filter's user instead of `me`. @throws VALIDATION_ERROR for a key */
export function assigneeOf(
  assignee: string | undefined,
  { userId }: Reader,
  field: string,
): string | undefined {
  if (assignee !== 'me') return assignee;
  if (userId === null) throw invalid(field, 'me needs a session: a key has no user');
  return userId;
}

export const conversationRoutes = [
  workspaceRoute({
    id: 'listConversations',
    method: 'GET',
    path: '/api/conversations',
    tag: 'Conversations',
    summary: 'List conversations, most recent activity first',
    heavy: ({ q }) => q !== undefined,
    // The inbox searches as somebody types.
    limit: perMinute(600),
    query: PositionQuery.extend(ConversationFilters.shape),
    responses: {
      200: z.object({
        success: z.literal(true),
        conversations: z.array(Conversation),
        nextCursor: NextCursor,
        unreadConversations: z
          .int()
          .nullable()
          .meta({
            description: `Open conversations that are unread, up to ${MAX_UNREAD} of the 5,000 last active, whatever the filters; null on later pages.`,
          }),
      }),
    },
    async handler({ db, caller, now, query: { limit, cursor, ...filters } }) {
      const reader = await readerOf(db, caller, now);
      filters.assignee = assigneeOf(filters.assignee, reader, 'assignee');
      const conditions = await conditionsOf(db, filters, reader);
      const rows = await listConversations(db, conditions, { limit: limit + 1, after: cursor ?? null });
      const { items, nextCursor } = pageBy(rows, limit, ({ activeAt, address }) => ({
        at: activeAt ?? new Date(0),
        key: address,
      }));
      return {
        status: 200,
        body: {
          success: true,
          conversations: await presentConversations(db, items, reader),
          nextCursor,
          unreadConversations: cursor === undefined ? await countUnread(db, reader) : null,
        },
      };
    },
  }),

  workspaceRoute({
    id: 'countConversations',
    method: 'GET',
    path: '/api/conversations/counts',
    tag: 'Conversations',
    summary: 'Count the conversations of each view of the inbox',
    responses: { 200: z.object({ success: z.literal(true), counts: ConversationCounts }) },
    async handler({ db, caller, now }) {
      const counts = await countConversations(db, await readerOf(db, caller, now));
      return { status: 200, body: { success: true, counts } };
    },
  }),

  workspaceRoute({
    id: 'getConversation',
    method: 'GET',
    path: '/api/conversations/{address}',
    tag: 'Conversations',
    summary: 'Get a conversation with its messages, newest first',
    // The inbox reads the next one ahead.
    limit: perMinute(600),
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
    async handler(context) {
      const { db, now, links } = context;
      const { limit, cursor } = context.query;
      const conversation = await conversationOf(context);
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
    responses: { 200: OneConversation },
    errors: ['NOT_FOUND'],
    async handler(context) {
      const { db, body, now } = context;
      const conversation = await conversationOf(context);
      const { address } = conversation;
      await setTags(db, address, body.tags);
      const tags = newTags(conversation.tags, body.tags);
      if (tags.length > 0)
        await triggerRules(db, [{ on: 'tag_added', address, lineId: conversation.lineId, tags }], now);
      await notifyPositive(db, conversation.address, now);
      return { status: 200, body: { success: true, conversation: { ...conversation, tags: body.tags } } };
    },
  }),

  workspaceRoute({
    id: 'updateConversation',
    method: 'PATCH',
    path: '/api/conversations/{address}',
    tag: 'Conversations',
    summary: 'Close, snooze or open a conversation, or assign it to a member',
    description:
      'Omitted fields do not change. A conversation opens again as soon as the contact writes, and a snoozed one at `snoozedUntil`.',
    limit: perMinute(600),
    params: ConversationParams,
    body: ConversationPatch,
    responses: { 200: OneConversation },
    errors: ['NOT_FOUND', 'INVALID_STATE'],
    audit: {
      action: 'conversation.updated',
      target: 'contact',
      targets: 'handler',
      changes: ['status', 'snoozedUntil', 'assigneeId', 'assign'],
    },
    async handler(context) {
      const { db, caller, body, now, audit } = context;
      const { address } = await lockedConversationOf(context);
      const { status, assign } = body;
      const snoozedUntil = body.snoozedUntil ? new Date(body.snoozedUntil) : undefined;
      if (snoozedUntil !== undefined && snoozedUntil <= now)
        throw invalid('snoozedUntil', 'must be in the future');
      if (typeof body.assigneeId === 'string' && !(await findInboxMember(db, body.assigneeId)))
        throw invalid('assigneeId', 'must be the id of a member of the workspace');
      const [next] = assign === undefined ? [] : dealOut(await availableMembers(db, [address], now), 1);
      if (assign !== undefined && next === undefined) throw nobodyAvailable();
      const change = { status, snoozedUntil, assigneeId: next ?? body.assigneeId };
      await changeConversations(db, new Map([[address, change]]), { by: caller.actor, now });
      await audit(db, [{ id: await auditedContact(db, address) }]);
      return { status: 200, body: { success: true, conversation: await conversationOf(context) } };
    },
  }),

  workspaceRoute({
    id: 'readConversation',
    method: 'POST',
    path: '/api/conversations/{address}/read',
    tag: 'Conversations',
    credential: 'session',
    limit: perMinute(600),
    summary: 'Mark a conversation as read by the signed-in user',
    description:
      'Every user has their own unread messages. A key has no user: for it, a conversation is unread until it is answered.',
    params: ConversationParams,
    responses: { 200: OneConversation },
    errors: ['NOT_FOUND'],
    async handler(context) {
      const { db, caller, now } = context;
      const { address } = await lockedConversationOf(context);
      await markRead(db, address, await readerOf(db, caller, now));
      await sendReadReceipt(db, address, caller.actor.name, now);
      return { status: 200, body: { success: true, conversation: await conversationOf(context) } };
    },
  }),

  workspaceRoute({
    id: 'unreadConversation',
    method: 'DELETE',
    path: '/api/conversations/{address}/read',
    tag: 'Conversations',
    credential: 'session',
    limit: perMinute(600),
    summary: 'Mark a conversation as unread by the signed-in user',
    description:
      'Its last message counts as unread again. A contact who has not written has nothing to read.',
    params: ConversationParams,
    responses: { 200: OneConversation },
    errors: ['NOT_FOUND'],
    async handler(context) {
      const { db, caller, now } = context;
      const { address } = await lockedConversationOf(context);
      await markUnread(db, address, await readerOf(db, caller, now));
      return { status: 200, body: { success: true, conversation: await conversationOf(context) } };
    },
  }),
];
