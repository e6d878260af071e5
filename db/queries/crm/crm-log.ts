import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import { insertion } from '#db/connection/recordset.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { type CrmLogEntry, CrmOutcome, CrmSubject, type NewCrmLogEntry } from '#domain/crm/crm.ts';

const Row = z.object({
  id: z.string(),
  at: z.date(),
  direction: z.enum(['in', 'out']),
  subject: CrmSubject,
  outcome: CrmOutcome,
  reason: z.string().nullable(),
  contactId: z.string().nullable(),
  leadId: z.string().nullable(),
  messageId: z.string().nullable(),
});

export async function logCrm(
  db: TenantDb,
  connectionId: string,
  entries: readonly NewCrmLogEntry[],
  now: Date,
): Promise<void> {
  if (entries.length === 0) return;
  await db.query(
    sql.type(NoRows)`${insertion(
      'crm_log',
      entries.map(({ reason = null, contactId = null, leadId = null, messageId = null, ...entry }) => ({
        workspaceId: db.workspaceId,
        connectionId,
        id: newId(now),
        at: now,
        ...entry,
        reason,
        contactId,
        leadId,
        messageId,
      })),
    )}`,
  );
}

/** Newest first; returns `limit + 1` rows if there are more. */
export async function pageOfCrmLog(
  db: TenantDb,
  connectionId: string,
  {
    outcome,
    limit,
    cursor,
  }: { outcome?: CrmLogEntry['outcome'] | undefined; limit: number; cursor?: string | undefined },
): Promise<readonly z.infer<typeof Row>[]> {
  return db.any(sql.type(Row)`
    select * from crm_log where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId} and connection_id = ${connectionId}`,
      outcome !== undefined && sql.fragment`outcome = ${outcome}`,
      cursor !== undefined && sql.fragment`id < ${cursor}`,
    ])}
    order by id desc limit ${limit + 1}`);
}

export const presentCrmLogEntry = ({ id, at, ...row }: z.infer<typeof Row>): CrmLogEntry => ({
  _id: id,
  at: at.toISOString(),
  ...row,
});
