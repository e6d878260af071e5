import { sql } from 'slonik';
import { z } from 'zod';
import { ROWS_INSERTED } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { AuditActor } from '#domain/accounts/audit.ts';
import { firstId } from '#domain/base/ids.ts';

const RequestRow = z.object({
  id: z.string(),
  at: z.date(),
  method: z.string(),
  path: z.string(),
  status: z.int(),
  code: z.string().nullable(),
  requestId: z.string(),
  actorType: AuditActor.shape.type,
  actorId: z.string().nullable(),
  actorName: z.string().nullable(),
  durationMs: z.int(),
  count: z.int(),
});
export type RequestRow = z.infer<typeof RequestRow>;

export interface NewRequestRow extends RequestRow {
  workspaceId: string;
}

/** Stores requests of any workspaces in one statement. */
export async function insertRequests(db: SystemDb, rows: readonly NewRequestRow[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into request_log (workspace_id, id, at, method, path, status, code, request_id, actor_type, actor_id, actor_name,
      duration_ms, count)
    select * from ${sql.unnest(
      rows.map((row) => [
        row.workspaceId,
        row.id,
        row.at.toISOString(),
        row.method,
        row.path,
        row.status,
        row.code,
        row.requestId,
        row.actorType,
        row.actorId,
        row.actorName,
        row.durationMs,
        row.count,
      ]),
      [
        'text',
        'text',
        'timestamptz',
        'text',
        'text',
        'int2',
        'text',
        'text',
        'text',
        'text',
        'text',
        'int4',
        'int4',
      ],
    )} ${ROWS_INSERTED}`);
}

export interface RequestFilter {
  method?: string | undefined;
  path?: string | undefined;
  /** From and to, both included. */
  status?: readonly [from: number, to: number] | undefined;
  code?: string | undefined;
  actorType?: AuditActor['type'] | undefined;
  actorId?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
}

/** Newest first, before the id `cursor`; `limit + 1` rows if there are more. */
export async function listRequests(
  db: TenantDb,
  { method, path, status, code, actorType, actorId, since, until }: RequestFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<RequestRow[]> {
  const [from, to] = status ?? [0, 999];
  const rows = await db.any(sql.type(RequestRow)`
    select id, at, method, path, status, code, request_id, actor_type, actor_id, actor_name, duration_ms, count
    from request_log where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId}`,
      cursor !== undefined && sql.fragment`id < ${cursor}`,
      // The id says which days to read.
      since && sql.fragment`id >= ${firstId(since)} and at >= ${sql.timestamp(since)}`,
      until && sql.fragment`at <= ${sql.timestamp(until)}`,
      status && sql.fragment`status between ${from} and ${to}`,
      // For the index of those that failed.
      (from >= 400 || code !== undefined) && sql.fragment`status >= 400`,
      code !== undefined && sql.fragment`code = ${code}`,
      method !== undefined && sql.fragment`method = ${method}`,
      path !== undefined && sql.fragment`path = ${path}`,
      actorType !== undefined && sql.fragment`actor_type = ${actorType}`,
      actorId !== undefined && sql.fragment`actor_id = ${actorId}`,
    ])} order by id desc limit ${limit + 1}`);
  return [...rows];
}
