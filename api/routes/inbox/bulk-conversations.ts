import { z } from 'zod';
import { changeMany, undoMany } from '#db/commands/inbox/bulk-conversations.ts';
import { type TenantDb, withTenantReads } from '#db/connection/transactions.ts';
import { auditedContacts } from '#db/queries/accounts/audit-log.ts';
import { conditionsOf } from '#db/queries/inbox/conversation-filters.ts';
import { readerOf } from '#db/queries/inbox/conversation-reads.ts';
import { listAddresses } from '#db/queries/inbox/conversations.ts';
import { availableMembers } from '#db/queries/inbox/absences.ts';
import { findInboxMember } from '#db/queries/inbox/inbox-members.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { BulkResult, type Changed, MAX_BULK } from '#domain/base/bulk.ts';
import { Id } from '#domain/base/ids.ts';
import { type BulkState, ConversationsBulk } from '#domain/inbox/bulk-conversations.ts';
import { normalizeAddress } from '#domain/base/address.ts';
import type { RecordAudit } from '#api/http/audit.ts';
import { changeInChunks, undoInChunks } from '#api/http/bulk.ts';
import { nobodyAvailable } from './assignment.ts';
import { invalid } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { assigneeOf } from './conversations.ts';

export const bulkConversationRoutes = [
  workspaceRoute({
    id: 'changeConversations',
    method: 'POST',
    path: '/api/conversations/bulk',
    tag: 'Conversations',
    transaction: false,
    summary: `Close, snooze, open, assign, tag or mark as read up to ${MAX_BULK} conversations, by address or filter`,
    description:
      'Each conversation changes as by its own request, with the same events. They are changed in parts of 100; if a part fails after others, the rest is in `skipped` as `not_done`. For a minute, who made the change can undo it. With `dryRun`, nothing is changed.',
    body: ConversationsBulk,
    responses: { 200: BulkResult },
    audit: { action: 'conversation.updated', target: 'contact', targets: 'handler' },
    async handler(context) {
      const { body, caller, now, pools, audit } = context;
      const { change, dryRun } = body;
      const snoozedUntil = change.snoozedUntil ?? null;
      if (snoozedUntil !== null && new Date(snoozedUntil) <= now)
        throw invalid('change.snoozedUntil', 'must be in the future');
      if (change.read && caller.via === 'key')
        throw invalid('change.read', 'needs a session: a key has no user');
      const { found, conditions } = await withTenantReads(pools, caller.workspace.id, async (db) => {
        const { assigneeId } = change;
        if (typeof assigneeId === 'string' && !(await findInboxMember(db, assigneeId)))
          throw invalid('change.assigneeId', 'must be the id of a member of the workspace');
        if (change.assign !== undefined && (await availableMembers(db, [], now)).length === 0)
          throw nobodyAvailable();
        if (body.filter === undefined)
          return { found: addressesOf(body.addresses ?? [], caller), conditions: null };
        const reader = await readerOf(db, caller, now);
        const assignee = assigneeOf(body.filter.assignee, reader, 'filter.assignee');
        const conditions = await conditionsOf(db, { ...body.filter, assignee }, reader);
        return { found: await listAddresses(db, conditions, MAX_BULK + 1), conditions };
      });
      const result = await changeInChunks(
        context,
        found,
        { dry: dryRun, canUndo: true },
        async (db, addresses) => {
          const reader = await readerOf(db, caller, now);
          const by = caller.actor;
          const outcome = await changeMany(db, addresses, conditions, change, { reader, by, now });
          await record(db, audit, outcome.changed);
          return outcome;
        },
      );
      return { status: 200, body: result };
    },
  }),

  workspaceRoute({
    id: 'undoConversationsChange',
    method: 'POST',
    path: '/api/conversations/bulk/{id}/undo',
    tag: 'Conversations',
    transaction: false,
    summary: 'Undo a change of many conversations within a minute',
    description:
      'Restores each conversation as it was, with the same events, unless somebody has changed it since.',
    params: z.object({ id: Id }),
    responses: { 200: BulkResult },
    errors: ['NOT_FOUND'],
    audit: { action: 'conversation.updated', target: 'contact', targets: 'handler' },
    async handler(context) {
      const { params, caller, now, audit } = context;
      const result = await undoInChunks(context, params.id, async (db, changes) => {
        const reader = await readerOf(db, caller, now);
        const outcome = await undoMany(db, changes, { reader, by: caller.actor, now });
        await record(db, audit, outcome.changed);
        return outcome;
      });
      return { status: 200, body: result };
    },
  }),
];

const addressesOf = (given: readonly string[], { workspace }: WorkspaceCaller): string[] =>
  given.map((address) => normalizeAddress(address, workspace.country) ?? address.trim().toLowerCase());

/** As single changes are recorded: neither tags nor what somebody has read. */
async function record(
  db: TenantDb,
  audit: RecordAudit,
  changed: readonly Changed<BulkState>[],
): Promise<void> {
  const recorded = changed.flatMap(({ item, after: { tags: _tags, readAt: _readAt, ...changes } }) =>
    Object.keys(changes).length > 0 ? [{ item, changes }] : [],
  );
  const ids = await auditedContacts(
    db,
    recorded.map(({ item }) => item),
  );
  await audit(
    db,
    recorded.flatMap(({ item, changes }) => ({ id: ids.get(item) ?? 'unknown', changes })),
  );
}
