import { sql } from 'slonik';
import { NoRows } from '#db/rows.ts';
import type { SystemDb } from '#db/transactions.ts';

/** The partitioned tables: how many days ahead to create partitions, and how many past days to keep. */
const PARTITIONED = { tables: ['events', 'webhook_deliveries', 'carrier_events'], ahead: 7, kept: 30 };

/** Creates the partitions of the next days and drops expired ones with all their rows. */
export async function keepPartitions(db: SystemDb): Promise<void> {
  for (const table of PARTITIONED.tables)
    await db.query(
      sql.type(NoRows)`select keep_partitions(${table}, ${PARTITIONED.ahead}, ${PARTITIONED.kept})`,
    );
}

/** A table whose rows are deleted at an age, and the column with their time. */
interface Aged {
  table: string;
  column: string;
  age: string;
  /** Limits it to rows that nothing needs any more. */
  unless?: ReturnType<typeof sql.fragment>;
  /** Its rows never change, so they need no locks. */
  appendOnly?: boolean;
}

/** The retention periods of the tables that are not partitioned. */
const KEPT: readonly Aged[] = [
  { table: 'idempotency_keys', column: 'created_at', age: '24 hours' },
  { table: 'agency_idempotency_keys', column: 'created_at', age: '24 hours' },
  { table: 'drip_fingerprints', column: 'created_at', age: '60 minutes' },
  { table: 'unreadable_inbound', column: 'created_at', age: '30 days' },
  { table: 'payment_events', column: 'received_at', age: '30 days' },
  { table: 'mails', column: 'created_at', age: '30 days' },
  { table: 'agency_mails', column: 'created_at', age: '30 days' },
  { table: 'message_moves', column: 'at', age: '30 days' },
  { table: 'audit_log', column: 'at', age: '400 days', appendOnly: true },
  { table: 'agency_audit_log', column: 'at', age: '400 days', appendOnly: true },
  {
    // Receipts, reads and reactions name the carrier's id of an attempt, and contacts read old messages.
    table: 'attempts',
    column: 'started_at',
    age: '400 days',
    unless: sql.fragment`outcome is null or exists (
      select from messages m where m.workspace_id = attempts.workspace_id and m.id = attempts.message_id
        and (m.status in ('pending', 'scheduled', 'sending') or m.fallback_sms = 'due'))`,
  },
];

const BATCH = 5000;

/**
 * Deletes expired rows, table by table, until none are left or `mayContinue` returns false. Uses small statements and skips
 * locked rows, so that nobody waits for it.
 * @returns the number of deleted rows.
 */
export async function trimAged(db: SystemDb, mayContinue: () => boolean): Promise<number> {
  let trimmed = 0;
  for (const aged of KEPT) {
    let count = BATCH;
    while (count === BATCH && mayContinue()) trimmed += count = await trimBatch(db, aged);
  }
  return trimmed;
}

async function trimBatch(db: SystemDb, { table, column, age, unless, appendOnly }: Aged): Promise<number> {
  const name = sql.identifier([table]);
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from ${name} where ctid = any(array(
      select ctid from ${name}
      where ${sql.identifier([column])} < now() - ${age}::interval and not (${unless ?? sql.fragment`false`})
      limit ${BATCH} ${appendOnly ? sql.fragment`` : sql.fragment`for update skip locked`}
    ))`);
  return rowCount;
}
