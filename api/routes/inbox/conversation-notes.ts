import { z } from 'zod';
import { notifyMention } from '#db/commands/events/notifications.ts';
import { insertNote, pageOfNotes, presentNotes } from '#db/queries/inbox/conversation-notes.ts';
import { listInboxMembers } from '#db/queries/inbox/inbox-members.ts';
import { ConversationNote, mentionsIn, NoteInput } from '#domain/inbox/conversation-note.ts';
import { conversationOf, ConversationParams, lockedConversationOf } from './conversations-of-request.ts';
import { invalid } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

export const conversationNoteRoutes = [
  workspaceRoute({
    id: 'listNotes',
    method: 'GET',
    path: '/api/conversations/{address}/notes',
    tag: 'Conversations',
    summary: 'List the notes about a contact, newest first',
    params: ConversationParams,
    query: PageQuery,
    responses: {
      200: z.object({
        success: z.literal(true),
        notes: z.array(ConversationNote),
        nextCursor: NextCursor,
      }),
    },
    errors: ['NOT_FOUND'],
    async handler(context) {
      const { db, query } = context;
      const { address } = await conversationOf(context);
      const { items, nextCursor } = page(await pageOfNotes(db, address, query), query.limit);
      return { status: 200, body: { success: true, notes: await presentNotes(db, items), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'createNote',
    method: 'POST',
    path: '/api/conversations/{address}/notes',
    tag: 'Conversations',
    summary: 'Write a note about a contact, which is never sent',
    description:
      'Notes are for the members of the workspace: they are not sent to carriers or to the language model. A member who is mentioned gets an email, at most one in five minutes with all notes since, unless emails about replies are turned off.',
    params: ConversationParams,
    idempotent: true,
    body: NoteInput,
    responses: { 201: z.object({ success: z.literal(true), note: ConversationNote }) },
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
    audit: {
      action: 'note.created',
      target: 'note',
      targets: ({ answer }) => [
        { id: answer.note._id, changes: { mentions: answer.note.mentions.map(({ userId }) => userId) } },
      ],
    },
    async handler(context) {
      const { db, caller, body, now } = context;
      const { address } = await lockedConversationOf(context);
      const mentions = mentionsIn(body.text);
      const members = await listInboxMembers(db, mentions);
      if (mentions.some((id) => !members.some(({ userId }) => userId === id)))
        throw invalid('text', 'mentions somebody who is not a member of the workspace');
      const note = await insertNote(db, { address, text: body.text, author: caller.actor, mentions }, now);
      for (const { userId, email } of members)
        if (mentions.includes(userId)) await notifyMention(db, { noteId: note.id, userId, email }, now);
      const [shown] = await presentNotes(db, [note]);
      return { status: 201, body: { success: true, note: shown as ConversationNote } };
    },
  }),
];
