import { z } from 'zod';
import {
  deleteSnippet,
  insertSnippet,
  pageOfSnippets,
  presentSnippet,
  updateSnippet,
} from '#db/queries/inbox/snippets.ts';
import { Search } from '#domain/base/search.ts';
import { Id } from '#domain/base/ids.ts';
import { Snippet, SnippetInput, SnippetPatch } from '#domain/inbox/snippet.ts';
import { ApiError } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

const SnippetParams = z.object({ id: Id });

const OneSnippet = z.object({ success: z.literal(true), snippet: Snippet });

const snippetNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Snippet not found');

export const snippetRoutes = [
  workspaceRoute({
    id: 'listSnippets',
    method: 'GET',
    path: '/api/snippets',
    tag: 'Conversations',
    summary: 'List snippets, newest first',
    query: PageQuery.extend({
      search: Search.meta({
        description: 'Matches any part of the name or the text, without regard to case and accents.',
      }),
    }),
    responses: {
      200: z.object({ success: z.literal(true), snippets: z.array(Snippet), nextCursor: NextCursor }),
    },
    async handler({ db, query }) {
      const { items, nextCursor } = page(await pageOfSnippets(db, query), query.limit);
      return { status: 200, body: { success: true, snippets: items.map(presentSnippet), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'createSnippet',
    method: 'POST',
    path: '/api/snippets',
    tag: 'Conversations',
    summary: 'Create a snippet: a text that the workspace writes often, with variables',
    description:
      "Its text is a Liquid template over the lead's fields. Send it as `message`; then it is rendered for the recipient.",
    idempotent: true,
    adds: 'snippets',
    body: SnippetInput,
    responses: { 201: OneSnippet },
    audit: {
      action: 'snippet.created',
      target: 'snippet',
      targets: ({ answer }) => [{ id: answer.snippet._id }],
      changes: ['name'],
    },
    async handler({ db, body, now }) {
      const snippet = presentSnippet(await insertSnippet(db, body, now));
      return { status: 201, body: { success: true, snippet } };
    },
  }),

  workspaceRoute({
    id: 'updateSnippet',
    method: 'PATCH',
    path: '/api/snippets/{id}',
    tag: 'Conversations',
    summary: 'Update a snippet',
    params: SnippetParams,
    body: SnippetPatch,
    responses: { 200: OneSnippet },
    errors: ['NOT_FOUND'],
    audit: { action: 'snippet.updated', target: 'snippet', changes: ['name'] },
    async handler({ db, params, body }) {
      const row = await updateSnippet(db, params.id, body);
      if (!row) throw snippetNotFound();
      return { status: 200, body: { success: true, snippet: presentSnippet(row) } };
    },
  }),

  workspaceRoute({
    id: 'deleteSnippet',
    method: 'DELETE',
    path: '/api/snippets/{id}',
    tag: 'Conversations',
    summary: 'Delete a snippet; messages that contain its text do not change',
    params: SnippetParams,
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND'],
    audit: { action: 'snippet.deleted', target: 'snippet' },
    async handler({ db, params }) {
      if (!(await deleteSnippet(db, params.id))) throw snippetNotFound();
      return { status: 200, body: { success: true } };
    },
  }),
];
