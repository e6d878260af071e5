import { sql } from 'slonik';
import { z } from 'zod';
import { onEachShard, workspacesIn } from './workspaces-in.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import { realFromNow } from '#domain/base/clock.ts';
import { firstId } from '#domain/base/ids.ts';
import type { Retention, RetentionKind } from '#domain/base/retention.ts';

/** The partitioned tables. */
const PARTITIONED = {
  events: 'events',
  published_events: 'events',
  webhook_deliveries: 'events',
  carrier_events: 'carrier-events',
  request_log: 'requests',
} as const satisfies Record<string, RetentionKind>;
const DAYS_AHEAD = 7;
/** How long no process may publish without an event being lost to the streams. */
const DAYS_UNPUBLISHED = 7;

/** Creates the partitions of the next days and drops expired ones with all their rows. */
export async function keepPartitions(db: SystemDb, retention: Retention): Promise<void> {
  for (const [table, kind] of Object.entries(PARTITIONED))
    await db.query(sql.type(NoRows)`select keep_partitions(${table}, ${DAYS_AHEAD}, ${retention[kind]})`);
  await db.query(
    sql.type(NoRows)`select keep_partitions('emitted_events', ${DAYS_AHEAD}, ${DAYS_UNPUBLISHED})`,
  );
}

/** A table whose rows are deleted at an age, and the column with their time. */
interface Aged {
  table: string;
  column: string;
  /** A configured kind, or a fixed period that callers rely on. */
  age: RetentionKind | '24 hours' | '60 minutes' | '30 days' | '120 days';
  /** Limits it to rows that nothing needs any more. */
  unless?: string;
  /** The rows never change, so they need no locks. */
  appendOnly?: boolean;
}

/** The retention periods of the tables that are not partitioned. */
const KEPT: readonly Aged[] = [
  { table: 'idempotency_keys', column: 'created_at', age: '24 hours' },
  { table: 'agency_idempotency_keys', column: 'created_at', age: '24 hours' },
  { table: 'drip_claims', column: 'created_at', age: '60 minutes' },
  { table: 'bulk_changes', column: 'created_at', age: '60 minutes' },
  { table: 'verifications', column: 'created_at', age: '30 days' },
  { table: 'user_sessions', column: 'expires_at', age: '24 hours' },
  { table: 'passkey_challenges', column: 'expires_at', age: '24 hours' },
  { table: 'chat_connections', column: 'expires_at', age: '24 hours' },
  { table: 'sign_in_links', column: 'expires_at', age: '24 hours' },
  { table: 'line_signals', column: 'day', age: '120 days' },
  { table: 'unreadable_inbound', column: 'created_at', age: 'unreadable-inbound' },
  { table: 'payment_events', column: 'received_at', age: 'payment-events' },
  { table: 'mails', column: 'created_at', age: 'mails' },
  { table: 'agency_mails', column: 'created_at', age: 'mails' },
  { table: 'message_moves', column: 'at', age: 'message-moves' },
  { table: 'line_holds', column: 'ended_at', age: 'message-moves' },
  { table: 'message_actions', column: 'created_at', age: 'message-moves' },
  { table: 'autopilot_dry_runs', column: 'requested_at', age: '30 days' },
  { table: 'crm_log', column: 'at', age: '30 days' },
  { table: 'rule_runs', column: 'ran_at', age: 'message-moves' },
  { table: 'added_tags', column: 'added_at', age: '30 days' },
  { table: 'audit_log', column: 'at', age: 'audit-log', appendOnly: true },
  { table: 'agency_audit_log', column: 'at', age: 'audit-log', appendOnly: true },
  {
    table: 'erased_addresses',
    column: 'requested_at',
    age: 'erased-addresses',
    unless: 'address is not null',
  },
];

const BATCH = 5000;

/**
 * Deletes expired rows, table by table, until none are left or `mayContinue` returns false. Uses small statements and skips
 * locked rows, so that nobody waits for it.
 * @returns the number of deleted rows.
 */
export async function trimAged(
  db: SystemDb,
  retention: Retention,
  mayContinue: () => boolean,
): Promise<number> {
  let trimmed = 0;
  for (const aged of KEPT) {
    let count = BATCH;
    while (count >= BATCH && mayContinue()) {
      count = await trimBatch(db, aged, retention);
      trimmed += count;
    }
  }
  return trimmed + (await trimAttempts(db, retention.attempts, mayContinue));
}

const BatchRow = z.object({ found: z.int(), lastId: z.string().nullable() });

/**
 * Deletes attempts by workspace and id, which begins with their time: the work is proportional to what is deleted, without an
 * index of their times. Receipts, reads and reactions name the carrier's id of an attempt, and contacts read old messages.
 */
async function trimAttempts(db: SystemDb, days: number, mayContinue: () => boolean): Promise<number> {
  const until = firstId(realFromNow(-days * 86_400_000));
  let trimmed = 0;
  for (const workspaceId of await workspacesIn(db, 'attempts', until)) {
    // Continues from the last, because deleted rows stay in the index until no older transaction needs them.
    for (let after: string | null = ''; after !== null && mayContinue();) {
      const { found, lastId }: z.infer<typeof BatchRow> = await db.one(sql.type(BatchRow)`
        with expired as materialized (
          select ctid, id from attempts a
          where workspace_id = ${workspaceId} and id > ${after} and id < ${until}
            and started_at < now() - make_interval(days => ${days}) and outcome is not null and not exists (
              select from messages m where m.workspace_id = ${workspaceId} and m.id = a.message_id
                and (m.status in ('pending', 'scheduled', 'sending') or m.fallback_sms = 'due'))
          order by id limit ${BATCH} for update of a skip locked
        ), deleted as (
          delete from attempts where workspace_id = ${workspaceId} and ctid = any(array(select ctid from expired)))
        select count(*) "found", max(id) last_id from expired`);
      trimmed += found;
      after = found === BATCH ? lastId : null;
    }
  }
  return trimmed;
}

async function trimBatch(
  db: SystemDb,
  { table, column, age, unless, appendOnly = false }: Aged,
  retention: Retention,
): Promise<number> {
  const kept = age in retention ? `${retention[age as RetentionKind]} days` : age;
  const counts = await onEachShard(
    db,
    table,
    `with deleted as (
       delete from %1$s where ctid = any(array(
         select ctid from %1$s where ${column} < now() - interval '${kept}' ${unless === undefined ? '' : `and not (${unless})`}
         limit ${BATCH} ${appendOnly ? '' : 'for update skip locked'}
       )) returning null
     ) select count(*)::text from deleted`,
  );
  return counts.reduce((sum, count) => sum + Number(count), 0);
}
