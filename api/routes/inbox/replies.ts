import { z } from 'zod';
import { findWholeReply, listReplies, presentReplies } from '#db/queries/inbox/replies.ts';
import { Id } from '#domain/base/ids.ts';
import { Reply, WholeReply } from '#domain/inbox/reply.ts';
import { pageBy, PositionQuery } from '#api/http/cursor.ts';
import { ApiError } from '#api/http/errors.ts';
import { NextCursor, spanOf, SpanQuery } from '#api/http/page.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';

export const replyRoutes = [
  workspaceRoute({
    id: 'listReplies',
    method: 'GET',
    path: '/api/replies',
    tag: 'Conversations',
    summary: 'List the newest reply of each conversation, newest first',
    description:
      'Automatic replies (out of office, bounces) are excluded. The filters apply to replies, so with `until` or `lineId` an item shows the newest matching reply. A large batch of attachments can arrive over several seconds; read again for the full set.',
    limit: perMinute(120),
    query: PositionQuery.extend({
      leadId: Id.optional(),
      lineId: Id.optional(),
      ...SpanQuery.shape,
    }),
    responses: {
      200: z.object({ success: z.literal(true), replies: z.array(Reply), nextCursor: NextCursor }),
    },
    async handler({ db, caller, now, links, query: { limit, cursor, ...query } }) {
      const filter = { ...query, ...spanOf(query, caller.workspace.timezone) };
      const rows = await listReplies(db, filter, { limit: limit + 1, after: cursor ?? null });
      const { items, nextCursor } = pageBy(rows, limit, ({ receivedAt, id }) => ({
        at: receivedAt,
        key: id,
      }));
      const replies = await presentReplies(db, items, links, now);
      return { status: 200, body: { success: true, replies: replies.map(({ reply }) => reply), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'getReply',
    method: 'GET',
    path: '/api/replies/{id}',
    tag: 'Conversations',
    summary: 'Get a reply with its whole text',
    description:
      'Of emails, conversations, events and drafts show what the contact wrote, without the message that it answers and without signatures. This returns the text as it was received.',
    limit: perMinute(600),
    params: z.object({ id: Id }),
    responses: { 200: z.object({ success: z.literal(true), reply: WholeReply }) },
    errors: ['NOT_FOUND'],
    async handler({ db, params }) {
      const reply = await findWholeReply(db, params.id);
      if (!reply) throw new ApiError('NOT_FOUND', 'Reply not found');
      return { status: 200, body: { success: true, reply } };
    },
  }),
];
