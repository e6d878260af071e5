import { z } from 'zod';
import {
  type AuditLog,
  type AuditFilter,
  listAuditEntries,
  presentAuditEntry,
} from '#db/queries/audit-log.ts';
import { AuditAction, AuditEntry, AuditTarget } from '#domain/audit.ts';
import { WorkspaceId } from '#domain/ids.ts';
import { Instant, NextCursor, page, PageQuery } from '../http/page.ts';
import { agencyRoute, workspaceRoute } from '../http/route.ts';

const AuditQuery = PageQuery.extend({
  action: AuditAction.optional(),
  channel: AuditEntry.shape.channel.optional(),
  actorId: z.string().max(100).optional().meta({ description: 'The id of a user or a key.' }),
  targetType: AuditTarget.shape.type.optional(),
  targetId: z.string().max(100).optional(),
  since: Instant.optional().meta({ description: 'At this time or later.' }),
  until: Instant.optional().meta({ description: 'At this time or earlier.' }),
});

const AuditPage = z.object({
  success: z.literal(true),
  entries: z.array(AuditEntry),
  nextCursor: NextCursor,
});

async function readLog(
  log: AuditLog,
  { limit, cursor, ...filter }: AuditFilter & { limit: number; cursor?: string | undefined },
) {
  const rows = await listAuditEntries(log, filter, { limit: limit + 1, cursor });
  const { items, nextCursor } = page(rows, limit);
  return {
    status: 200,
    body: { success: true, entries: items.map(presentAuditEntry), nextCursor },
  } as const;
}

const DESCRIPTION =
  'Kept for 400 days. `changes` has the new values of what was sent; of secrets, texts, addresses and URLs it says only that they were.';

export const auditLogRoutes = [
  workspaceRoute({
    id: 'listAuditLog',
    method: 'GET',
    path: '/api/audit-log',
    tag: 'Audit log',
    summary: 'Who changed what in the workspace, newest first',
    description: DESCRIPTION,
    credential: 'session',
    role: 'admin',
    ofClients: true,
    query: AuditQuery.extend({
      workspaceId: WorkspaceId.optional().meta({
        description: 'A workspace of the agency that the user belongs to. Default: that of the session.',
      }),
    }),
    responses: { 200: AuditPage },
    handler: ({ db, query }) => readLog({ db, workspaceId: db.workspaceId }, query),
  }),
];

export const agencyAuditLogRoutes = [
  agencyRoute({
    id: 'listAgencyAuditLog',
    method: 'GET',
    path: '/api/agency/audit-log',
    tag: 'Audit log',
    summary: 'Who changed what in the agency itself, newest first',
    description: `${DESCRIPTION} What an agency changes in a workspace is in the log of the workspace.`,
    credential: 'session',
    role: 'owner',
    query: AuditQuery,
    responses: { 200: AuditPage },
    handler: ({ db, caller, query }) => readLog({ db, agencyId: caller.agency.id }, query),
  }),
];
