import { parseArgs } from 'node:util';
import pg from 'pg';
import { removeChunk, type QueuePosition } from '../../db/commands/lines/line-reassignment.ts';
import { recordCarrierEvents } from '../../db/commands/inbox/carrier-events.ts';
import type { CarrierEvent } from '../../domain/lines/carrier-event.ts';
import { createPools } from '../../db/connection/pools.ts';
import { keepPartitions, trimAged } from '../../db/queries/operations/retention.ts';
import { DEFAULT_RETENTION } from '../../domain/base/retention.ts';
import {
  beginDispatch,
  claimDeliveries,
  type DeliveryResult,
  finishDeliveries,
} from '../../db/queries/events/webhook-deliveries.ts';
import { systemDb, withTenant } from '../../db/connection/transactions.ts';
import { newId, newWorkspaceId } from '../../domain/base/ids.ts';
import { startServers } from './support/servers.ts';

/**
 * Measures deleting by partition, by row and in chunks, and claiming deliveries while an old snapshot prevents finished
 * ones from being vacuumed: `npm run bench -- retention [--rows 500000 --deliveries 6000]`.
 */
const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '500000' },
    deliveries: { type: 'string', default: '6000' },
  },
});
const ROWS = Number(options.rows);
const DELIVERIES = Number(options.deliveries);
/** The number of deliveries that a dispatcher sends to one webhook in parallel. */
const AT_ONCE = 8;

const servers = await startServers();
const pools = await createPools(servers.config.database, { size: 4, statementTimeoutMs: 600_000 });
const owner = new pg.Client({ connectionString: servers.ownerUrl });
await owner.connect();
await owner.query(`set app.migrating = 'on'`);

const workspaceId = newWorkspaceId();
const lineId = newId();
const webhookId = newId();
await owner.query(`insert into workspaces (id, name) values ($1, 'Bench')`, [workspaceId]);
await owner.query(
  `insert into webhooks (workspace_id, id, name, url, events, secret_sealed) values ($1, $2, '', '', '{}', '')`,
  [workspaceId, webhookId],
);

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
};
const report = (what: string, rows: number, took: number): void =>
  console.log(`${what}: ${rows} rows in ${took.toFixed(2)} s, ${Math.round(rows / took)} a second`);

/** Creates the partitions of a past month, so that queries cost what they do in production. */
async function makePast(table: string): Promise<void> {
  const width = table === 'carrier_events' ? 7 : 1;
  const { rows } = await owner.query<{ bounds: string[] }>(
    `select array_agg(day_bound($1, date_trunc('day', now(), 'UTC') + make_interval(days => n)) order by n) bounds
     from generate_series(-35, 7, $2) n`,
    [table, width],
  );
  const made = await owner.query<{ name: string }>(
    `select name from partitions_of($1) where name <> $1 || '_rest'`,
    [table],
  );
  for (const { name } of made.rows) await owner.query(`drop table ${name}`);
  for (const [index, from] of (rows[0]?.bounds ?? []).entries()) {
    const to = rows[0]?.bounds[index + 1];
    if (to !== undefined)
      await owner.query(
        `create table ${table}_past_${index} partition of ${table} for values from ('${from}') to ('${to}')`,
      );
  }
}
for (const table of ['events', 'webhook_deliveries', 'carrier_events']) await makePast(table);

/** SQL for ids that begin with a time, as the product's do. */
const idAt = (at: string) =>
  `lpad(to_hex(extract(epoch from ${at})::bigint), 8, '0') || lpad(to_hex(n), 16, '0')`;

async function deleteAged(): Promise<void> {
  report(
    'deliveries written',
    ROWS,
    await seconds(() =>
      owner.query(`
        insert into webhook_deliveries (workspace_id, id, webhook_id, event_id, event, status, success, response_status,
          latency_ms, attempt_count, claimed_at, created_at)
        select '${workspaceId}', ${idAt(`now() - interval '31 days 1 hour'`)}, '${webhookId}', '${newId()}', 'message.sent', 'done', true, 200,
          20, 1, now(), now() from generate_series(1, ${ROWS}) n`),
    ),
  );
  report(
    'deliveries dropped with their days',
    ROWS,
    await seconds(() => keepPartitions(systemDb(pools), DEFAULT_RETENTION)),
  );

  report('attempts written', ROWS, await seconds(writeAttempts));
  await trim('attempts deleted by the row');
  await writeAttempts();
  await underOldSnapshot(() => trim('attempts deleted by the row, under an old snapshot'));
  await trimReused();
}

/** Deletes attempts where deleted ones have made room for new ones, so that each page has attempts of all times. */
async function trimReused(): Promise<void> {
  for (let cycle = 1; cycle <= 3; cycle += 1) {
    await writeAttempts();
    await writeAttempts(`${380 - cycle} days`);
    await trim(`cycle ${cycle}: attempts deleted beside ${cycle * ROWS} that are kept`);
    await owner.query('vacuum attempts');
    const took = await seconds(() => trimAged(systemDb(pools), DEFAULT_RETENTION, () => true));
    const { rows } = await owner.query<{ pages: string }>(`select pg_relation_size('attempts') / 8192 pages`);
    console.log(
      `cycle ${cycle}: with nothing to delete ${(took * 1000).toFixed(0)} ms, of ${rows[0]?.pages} pages`,
    );
  }
}

const writeAttempts = (age = '401 days') =>
  owner.query(`
    insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at,
      answer_by, outcome, carrier_message_id)
    select '${workspaceId}', ${idAt(`now() - interval '${age}'`)}, ${idAt('now()')}, '${lineId}', 'primary', 'imessage',
      'simulated', '+1415' || (5000000 + n), false, now() - interval '${age}', now() - interval '${age}', 'accepted', n::text
    from generate_series(1, ${ROWS}) n`);

async function trim(what: string): Promise<void> {
  await owner.query('vacuum analyze attempts');
  let trimmed = 0;
  const took = await seconds(async () => {
    trimmed = await trimAged(systemDb(pools), DEFAULT_RETENTION, () => true);
  });
  if (trimmed !== ROWS) throw new Error(`${trimmed} rows were deleted`);
  report(what, ROWS, took);
}

async function recordEvents(): Promise<void> {
  for (const [trigger, what] of [
    ['enable', 'looked for in all days'],
    ['disable', 'not looked for'],
  ]) {
    await owner.query(`alter table carrier_events ${trigger} trigger carrier_event_once`);
    const times: number[] = [];
    for (let count = 0; count < 1000; count += 1) {
      const event = { eventId: `${trigger} ${count}` } as CarrierEvent;
      await withTenant(pools, workspaceId, async (db) => {
        times.push(await seconds(() => recordCarrierEvents(db, [{ lineId, event }])));
      });
    }
    console.log(`a carrier's event noted, ${what}: ${(median(times) * 1000).toFixed(2)} ms`);
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

/** Claims and finishes all deliveries of one webhook, eight at a time. @param continues whether claims continue from the last. */
async function deliver(continues: boolean): Promise<void> {
  await owner.query(`
    insert into events (workspace_id, id, event, body)
    select '${workspaceId}', ${idAt(`now() - interval '1 minute'`)}, 'message.sent', '{}' from generate_series(1, ${DELIVERIES}) n
    on conflict do nothing`);
  await owner.query(`
    insert into webhook_deliveries (workspace_id, id, webhook_id, event_id, event)
    select workspace_id, id, '${webhookId}', id, event from events where workspace_id = '${workspaceId}'`);
  const times: number[] = [];
  let claims = await withTenant(pools, workspaceId, (db) => beginDispatch(db, ''));
  for (let left = DELIVERIES; left > 0; left -= AT_ONCE) {
    if (!continues) claims = { from: claims.from, last: new Map() };
    await withTenant(pools, workspaceId, async (db) => {
      const started = performance.now();
      const claimed = await claimDeliveries(db, {
        claims,
        limits: new Map(),
        busy: new Map(),
        limit: AT_ONCE,
      });
      times.push((performance.now() - started) / 1000);
      if (claimed.length !== AT_ONCE) throw new Error(`${claimed.length} deliveries were claimed`);
      for (const { id } of claimed) claims.last.set(webhookId, id);
      await finishDeliveries(
        db,
        claimed.map(({ id }) => ({ ...DONE, id })),
      );
    });
  }
  const tenth = Math.ceil(times.length / 10);
  const ms = (part: readonly number[]): string => `${(median(part) * 1000).toFixed(2)} ms`;
  console.log(
    `claiming ${AT_ONCE} of ${DELIVERIES}: the first tenth ${ms(times.slice(0, tenth))}, the last ${ms(times.slice(-tenth))}`,
  );
  await owner.query(`delete from webhook_deliveries where workspace_id = '${workspaceId}'`);
}
const DONE: Omit<DeliveryResult, 'id'> = {
  responseBody: null,
  success: true,
  responseStatus: 200,
  error: null,
  latencyMs: 20,
  attemptCount: 1,
};

async function underOldSnapshot(work: () => Promise<void>): Promise<void> {
  const reader = new pg.Client({ connectionString: servers.ownerUrl });
  await reader.connect();
  await reader.query('begin isolation level repeatable read');
  await reader.query('select from workspaces');
  await work();
  await reader.end();
}

async function handOverQueue(): Promise<void> {
  const second = newId();
  await owner.query(
    `insert into lines (workspace_id, id, channel, line_type, first_name, last_name, request_source, provisioning_status, carrier,
       daily_total_limit, daily_new_limit, min_gap_seconds, contact_gap_seconds)
     values ($1, $2, 'imessage', 'byo', 'A', 'B', 'api', 'active', 'simulated', 150, 50, 20, 60)`,
    [workspaceId, second],
  );
  await owner.query(`
    insert into messages (workspace_id, id, channel, status, line_id, address, scheduled_at, source)
    select '${workspaceId}', ${idAt('now()')}, 'imessage', 'scheduled', '${lineId}', '+1415' || (5000000 + n), now() + n * interval '1 second', 'api'
    from generate_series(1, ${QUEUE}) n`);
  await owner.query('vacuum analyze messages');
  const times: number[] = [];
  let after: QueuePosition | null = null;
  for (;;) {
    const started = performance.now();
    const chunk = await withTenant(pools, workspaceId, (db) => removeChunk(db, lineId, after));
    times.push((performance.now() - started) / 1000);
    if (chunk.isDone) break;
    ({ after } = chunk);
  }
  const all = times.reduce((sum, time) => sum + time, 0);
  report(`handing over the queue of a line in ${times.length} transactions`, QUEUE, all);
  console.log(`the longest transaction: ${Math.max(...times).toFixed(2)} s`);
}
const QUEUE = 50_000;

await deleteAged();
await recordEvents();
console.log('claiming from the last, nothing in the way');
await deliver(true);
console.log('from the beginning each time, under an old snapshot');
await underOldSnapshot(() => deliver(false));
console.log('from the last, under an old snapshot');
await underOldSnapshot(() => deliver(true));
await handOverQueue();

await owner.end();
await pools.close();
await servers.stop();
