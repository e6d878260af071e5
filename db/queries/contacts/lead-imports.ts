import { sql } from 'slonik';
import { z } from 'zod';
import { type LeadImport, RejectedRow } from '#domain/contacts/lead-import.ts';
import { leadImportId } from '#workflows/protocol/workflow-ids.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { insertion } from '#db/connection/recordset.ts';
import { wake } from '#db/wakes/wakes.ts';

const ImportRow = z.object({
  id: z.string(),
  workspaceId: z.string(),
  listId: z.string(),
  status: z.enum(['running', 'completed', 'failed']),
  fileKey: z.string(),
  defaultCountryCode: z.string().nullable(),
  /** Where reading stops; null: at the end of the file. */
  maxRows: z.int().nullable(),
  /** Who records the consents of the file; null: unknown. */
  recordedBy: z.string().nullable(),
  /** Whether a consent may have been given before the day of the import. */
  backdates: z.boolean(),
  columns: z.array(z.string()),
  processed: z.int(),
  saved: z.int(),
  duplicates: z.int(),
  rejected: z.int(),
  unlikelyNumbers: z.int(),
  error: z.string().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type ImportRow = z.infer<typeof ImportRow>;

export async function insertImport(
  db: TenantDb,
  row: {
    id: string;
    listId: string;
    fileKey: string;
    defaultCountryCode: string | null;
    userId: string | null;
    /** The size of the file, in bytes. */
    size: number;
  } & Pick<ImportRow, 'maxRows' | 'recordedBy' | 'backdates'>,
  now: Date,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into lead_imports (workspace_id, id, list_id, file_key, default_country_code, created_by_user_id, stored_bytes, max_rows,
      recorded_by, backdates)
    values (${db.workspaceId}, ${row.id}, ${row.listId}, ${row.fileKey}, ${row.defaultCountryCode}, ${row.userId}, ${row.size}, ${row.maxRows},
      ${row.recordedBy}, ${row.backdates})`);
  wake(db, leadImportId(row.id), now, 'requested');
}

export async function findImport(db: TenantDb, id: string): Promise<ImportRow | null> {
  return db.maybeOne(sql.type(ImportRow)`
    select * from lead_imports where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Locks a running import until the transaction ends; null if it has ended or another worker has advanced it. */
export async function lockImport(db: TenantDb, id: string, processed: number): Promise<ImportRow | null> {
  return db.maybeOne(sql.type(ImportRow)`
    select * from lead_imports
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'running' and processed = ${processed} for update`);
}

/** Whether an import runs that is older than `id`. */
export async function isImporting(db: TenantDb, id: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select from lead_imports where workspace_id = ${db.workspaceId} and status = 'running' and id < ${id}`);
}

/** Records the results of a batch of rows. Requires `lockImport`. */
export async function recordBatch(
  db: TenantDb,
  id: string,
  batch: {
    columns: string[];
    saved: number;
    duplicates: number;
    rejected: readonly RejectedRow[];
    /** Of the saved leads, those with a number that its country does not have. */
    unlikelyNumbers: number;
    /** Rows of contacts that were erased since: counted as rejected, and not kept. */
    erased: number;
  },
): Promise<void> {
  const { columns, saved, duplicates, rejected, unlikelyNumbers, erased } = batch;
  await db.query(sql.type(NoRows)`
    update lead_imports set columns = ${sql.array(columns, 'text')}, saved = saved + ${saved}, duplicates = duplicates + ${duplicates},
      unlikely_numbers = unlikely_numbers + ${unlikelyNumbers}, rejected = rejected + ${rejected.length + erased},
      processed = processed + ${saved + duplicates + rejected.length + erased}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id}`);
  if (rejected.length === 0) return;
  const rows = rejected.map((row) => ({ ...row, workspaceId: db.workspaceId, importId: id }));
  await db.query(sql.type(NoRows)`${insertion('rejected_rows', rows)}`);
}

/** Sets the final status; null: it was set before. The file no longer counts against the storage quota. */
export async function finishImport(
  db: TenantDb,
  id: string,
  error: string | null,
): Promise<ImportRow | null> {
  return db.maybeOne(sql.type(ImportRow)`
    update lead_imports set status = ${error === null ? 'completed' : 'failed'}, error = ${error}, stored_bytes = 0, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'running'
    returning *`);
}

/** The next rejected rows of an import, in file order. */
export async function rejectedRows(
  db: TenantDb,
  importId: string,
  after: number,
  limit: number,
): Promise<RejectedRow[]> {
  const rows = await db.any(sql.type(RejectedRow)`
    select row_number, reason, fields from rejected_rows
    where workspace_id = ${db.workspaceId} and import_id = ${importId} and row_number > ${after}
    order by row_number limit ${limit}`);
  return [...rows];
}

export function presentImport(row: ImportRow): LeadImport {
  return {
    importId: row.id,
    listId: row.listId,
    status: row.status,
    processed: row.processed,
    saved: row.saved,
    duplicates: row.duplicates,
    rejected: row.rejected,
    unlikelyNumbers: row.unlikelyNumbers,
    error: row.error,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
