import { z } from 'zod';
import { changeManyLeads, undoManyLeads } from '#db/commands/contacts/bulk-leads.ts';
import { withTenantReads } from '#db/connection/transactions.ts';
import { listLeadIds } from '#db/queries/contacts/leads.ts';
import { findList } from '#db/queries/contacts/lists.ts';
import { hasScope } from '#domain/accounts/key-scope.ts';
import { BulkResult, MAX_BULK } from '#domain/base/bulk.ts';
import { Id } from '#domain/base/ids.ts';
import { MAX_ADDRESSES } from '#domain/contacts/lead.ts';
import { LeadsBulk } from '#domain/contacts/bulk-leads.ts';
import { authorOf } from '#api/http/audit.ts';
import { changeInChunks, undoInChunks } from '#api/http/bulk.ts';
import { ApiError } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { listNotFound } from './lists.ts';

export const bulkLeadRoutes = [
  workspaceRoute({
    id: 'changeLeads',
    method: 'POST',
    path: '/api/leads/bulk',
    tag: 'Contacts',
    transaction: false,
    summary: `Change the lists or fields of up to ${MAX_BULK} leads, delete them or opt them out, by id or filter`,
    description:
      'Each lead changes as by its own request. They are changed in parts of 100; if a part fails after others, the rest is in `skipped` as `not_done`. Changes of lists and fields can be undone for a minute by who made them. With `dryRun`, nothing is changed.',
    body: LeadsBulk,
    responses: { 200: BulkResult },
    errors: ['NOT_FOUND', 'LIMIT_REACHED', 'INSUFFICIENT_SCOPE'],
    async handler(context) {
      const { body, caller, now, pools } = context;
      const { change, dryRun, filter } = body;
      if (change.delete && caller.key !== null && !hasScope(caller.key.scopes, ['manage']))
        throw new ApiError('INSUFFICIENT_SCOPE', 'To delete leads, the key needs the scope manage');
      const found = await withTenantReads(pools, caller.workspace.id, async (db) => {
        for (const listId of [change.addToListId, change.removeFromListId])
          if (listId !== undefined && !(await findList(db, listId))) throw listNotFound();
        return filter === undefined ? (body.leadIds ?? []) : listLeadIds(db, filter, MAX_BULK + 1);
      });
      const canUndo = change.delete === undefined && change.optOut === undefined;
      // An opt-out has one for each address.
      const events = change.optOut ? MAX_ADDRESSES : 1;
      const author = authorOf(caller);
      const result = await changeInChunks(context, found, { dry: dryRun, canUndo, events }, (db, ids) =>
        changeManyLeads(db, ids, filter?.listId, change, { author, now }),
      );
      return { status: 200, body: result };
    },
  }),

  workspaceRoute({
    id: 'undoLeadsChange',
    method: 'POST',
    path: '/api/leads/bulk/{id}/undo',
    tag: 'Contacts',
    transaction: false,
    summary: 'Undo a change of the lists or fields of many leads within a minute',
    description: 'Restores each lead as it was, unless somebody has changed it since.',
    params: z.object({ id: Id }),
    responses: { 200: BulkResult },
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
    async handler(context) {
      const result = await undoInChunks(context, context.params.id, undoManyLeads);
      return { status: 200, body: result };
    },
  }),
];
