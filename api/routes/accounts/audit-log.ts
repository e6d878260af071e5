import { Readable } from 'node:stream';
import { z } from 'zod';
import {
  type AuditLog,
  auditEntriesAfter,
  listAuditEntries,
  presentAuditEntry,
} from '#db/queries/accounts/audit-log.ts';
import { AuditAction, AuditEntry, AuditTarget } from '#domain/accounts/audit.ts';
import { withTenantReads } from '#db/connection/transactions.ts';
import { WorkspaceId } from '#domain/base/ids.ts';
import { yielding } from '#domain/base/turns.ts';
import { NextCursor, page, PageQuery, spanOf, SpanQuery } from '#api/http/page.ts';
import { agencyRoute, ResponseStream, workspaceRoute } from '#api/http/route.ts';

const AuditQuery = PageQuery.extend({
  action: AuditAction.optional(),
  channel: AuditEntry.shape.channel.optional(),
  actorId: z.string().max(100).optional().meta({ description: 'The id of a user or a key.' }),
  targetType: AuditTarget.shape.type.optional(),
  targetId: z.string().max(100).optional(),
  ...SpanQuery.shape,
});

const OfClient = z.object({
  workspaceId: WorkspaceId.optional().meta({
    description: "A workspace of the user's agency. Default: the session's workspace.",
  }),
});

const AuditPage = z.object({
  success: z.literal(true),
  entries: z.array(AuditEntry),
  nextCursor: NextCursor,
});

async function readLog(
  log: AuditLog,
  { limit, cursor, ...query }: z.output<typeof AuditQuery>,
  timezone: string,
) {
  const filter = { ...query, ...spanOf(query, timezone) };
  const rows = await listAuditEntries(log, filter, { limit: limit + 1, cursor });
  const { items, nextCursor } = page(rows, limit);
  return {
    status: 200,
    body: { success: true, entries: items.map(presentAuditEntry), nextCursor },
  } as const;
}

/** Entries in memory at a time. */
const PART = 500;

const DESCRIPTION =
  'Kept for 400 days. What a member or a key may not do, or does too often (403, 429), is in it once an hour. `changes` has the new values of what was sent; of secrets, texts, addresses and URLs it says only that they were.';

export const auditLogRoutes = [
  workspaceRoute({
    id: 'listAuditLog',
    method: 'GET',
    path: '/api/audit-log',
    tag: 'Audit log',
    summary: 'List who changed what in the workspace, newest first',
    description: DESCRIPTION,
    credential: 'session',
    role: 'admin',
    ofClients: true,
    query: AuditQuery.extend(OfClient.shape),
    responses: { 200: AuditPage },
    handler: ({ db, caller, query }) =>
      readLog({ db, workspaceId: db.workspaceId }, query, caller.workspace.timezone),
  }),

  workspaceRoute({
    id: 'exportAuditLog',
    method: 'GET',
    path: '/api/audit-log/export',
    tag: 'Audit log',
    transaction: false,
    summary: 'Export the audit log as JSON lines, oldest first, for example to a security information system',
    description: DESCRIPTION,
    credential: 'session',
    role: 'admin',
    ofClients: true,
    query: SpanQuery.extend(OfClient.shape),
    produces: 'application/x-ndjson',
    responses: { 200: ResponseStream },
    async handler({ caller, query, pools }) {
      const span = spanOf(query, caller.workspace.timezone);
      const lines = async function* (): AsyncGenerator<string> {
        for (let after = ''; ;) {
          const from = after;
          const rows = await withTenantReads(pools, caller.workspace.id, (db) =>
            auditEntriesAfter({ db, workspaceId: db.workspaceId }, span, { limit: PART, after: from }),
          );
          for await (const row of yielding(rows)) yield `${JSON.stringify(presentAuditEntry(row))}\n`;
          if (rows.length < PART) return;
          after = rows.at(-1)?.id ?? after;
        }
      };
      return { status: 200, body: Readable.from(lines()) };
    },
  }),
];

export const agencyAuditLogRoutes = [
  agencyRoute({
    id: 'listAgencyAuditLog',
    method: 'GET',
    path: '/api/agency/audit-log',
    tag: 'Audit log',
    summary: 'List who changed what in the agency itself, newest first',
    description: `${DESCRIPTION} What an agency changes in a workspace is in the log of the workspace.`,
    credential: 'session',
    role: 'owner',
    query: AuditQuery,
    responses: { 200: AuditPage },
    handler: ({ db, caller, query }) => readLog({ db, agencyId: caller.agency.id }, query, 'UTC'),
  }),
];
