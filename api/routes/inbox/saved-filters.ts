import { z } from 'zod';
import {
  deleteSavedFilter,
  insertSavedFilter,
  pageOfSavedFilters,
  presentSavedFilter,
  updateSavedFilter,
} from '#db/queries/inbox/saved-filters.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { Id } from '#domain/base/ids.ts';
import { SavedFilter, SavedFilterInput, SavedFilterPatch } from '#domain/inbox/saved-filter.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

const SavedFilterParams = z.object({ id: Id });

const OneSavedFilter = z.object({ success: z.literal(true), savedFilter: SavedFilter });

const savedFilterNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Saved filter not found');

/** null: a key, which acts for no user. */
const userOf = ({ via, userId }: WorkspaceCaller): string | null => (via === 'key' ? null : userId);

function requireUser(caller: WorkspaceCaller, shared: boolean | undefined): string | null {
  const userId = userOf(caller);
  if (shared === false && userId === null)
    throw invalid('shared', 'must be true for a key, which has no user');
  return userId;
}

export const savedFilterRoutes = [
  workspaceRoute({
    id: 'listSavedFilters',
    method: 'GET',
    path: '/api/saved-filters',
    tag: 'Conversations',
    summary: "List the filters of the inbox that are shared, and the signed-in user's own, newest first",
    query: PageQuery,
    responses: {
      200: z.object({
        success: z.literal(true),
        savedFilters: z.array(SavedFilter),
        nextCursor: NextCursor,
      }),
    },
    async handler({ db, caller, query }) {
      const { items, nextCursor } = page(await pageOfSavedFilters(db, userOf(caller), query), query.limit);
      return {
        status: 200,
        body: { success: true, savedFilters: items.map(presentSavedFilter), nextCursor },
      };
    },
  }),

  workspaceRoute({
    id: 'createSavedFilter',
    method: 'POST',
    path: '/api/saved-filters',
    tag: 'Conversations',
    summary: 'Save a filter of the inbox under a name',
    idempotent: true,
    adds: 'savedFilters',
    body: SavedFilterInput,
    responses: { 201: OneSavedFilter },
    async handler({ db, caller, body, now }) {
      const userId = requireUser(caller, body.shared);
      const row = await insertSavedFilter(db, body.shared ? null : userId, body, now);
      return { status: 201, body: { success: true, savedFilter: presentSavedFilter(row) } };
    },
  }),

  workspaceRoute({
    id: 'updateSavedFilter',
    method: 'PATCH',
    path: '/api/saved-filters/{id}',
    tag: 'Conversations',
    summary: 'Update a saved filter, share it, or make it private',
    params: SavedFilterParams,
    body: SavedFilterPatch,
    responses: { 200: OneSavedFilter },
    errors: ['NOT_FOUND'],
    async handler({ db, caller, params, body }) {
      const row = await updateSavedFilter(db, params.id, requireUser(caller, body.shared), body);
      if (!row) throw savedFilterNotFound();
      return { status: 200, body: { success: true, savedFilter: presentSavedFilter(row) } };
    },
  }),

  workspaceRoute({
    id: 'deleteSavedFilter',
    method: 'DELETE',
    path: '/api/saved-filters/{id}',
    tag: 'Conversations',
    summary: 'Delete a saved filter',
    params: SavedFilterParams,
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND'],
    async handler({ db, caller, params }) {
      if (!(await deleteSavedFilter(db, params.id, userOf(caller)))) throw savedFilterNotFound();
      return { status: 200, body: { success: true } };
    },
  }),
];
