import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { sql } from 'slonik';
import { z } from 'zod';
import { conversationsOfDay } from '../../db/queries/analytics/analytics-conversations.ts';
import { countSome } from '../../db/commands/analytics/count-days.ts';
import { countByBucket, countMessages } from '../../db/queries/analytics/analytics.ts';
import { migrate } from '../../db/migrate.ts';
import { createPools } from '../../db/connection/pools.ts';
import { type TenantDb, withTenant } from '../../db/connection/transactions.ts';
import { type AnalyticsFilter, buckets } from '../../domain/analytics/analytics.ts';
import { type Counts, NO_COUNTS } from '../../domain/analytics/metrics.ts';
import { databaseLogins } from '../../standalone/database-logins.ts';
import { freePort } from '../../providers/free-port.ts';
import { startPostgres } from '../../standalone/postgres.ts';
import { countChanges } from '../../activities/analytics/count-changes.ts';
import { removeTemporaryFolder, stopAtEnd, temporaryFolder } from './support/leftovers.ts';
import { measureWrites } from './analytics/writes.ts';
import { BEGIN, END, loadMessages, sendMore } from './support/message-load.ts';
import { LINEPACE, median, report, type Row } from './support/rows.ts';
import { createOnCluster } from './support/servers.ts';

/**
 * Measures analytics of a large workspace against a plain GROUP BY over the same rows in the same run, and what their
 * indexes cost when messages are written, on one server. Compare the ratios, since the times depend on the machine. With
 * `BENCH_CITUS`, as `TEST_CITUS`, on that cluster.
 */
const { values: options } = parseArgs({
  options: { messages: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
});
const MESSAGES = Number(options.messages);
const ROUNDS = Number(options.rounds);
const DAY_MS = 86_400_000;
/** Messages of the last hour whose changes are not added to the metrics by the day. */
const CHANGED = [1000, 20_000];
/** Messages per second: what the product sends on two cores. */
const RATE = 570;
/** The target share of the plain query's time, for metrics that are read by the day or the hour. */
const GOAL = 1 / 50;
/** The target where changes are added, or parts of days are counted from messages. */
const GOAL_OF_PARTS = 1 / 20;
const measured: Row[] = [];

const folder = temporaryFolder('linepace-bench-');
const cluster = process.env['BENCH_CITUS'];
const postgres =
  cluster === undefined
    ? await startPostgres({
        dataDir: join(folder, 'postgres'),
        port: await freePort(),
        logFile: join(folder, 'postgres.log'),
        onSpawn: (server) => stopAtEnd(server, 'SIGINT'),
      })
    : await createOnCluster(cluster);
const admin = new pg.Client({ connectionString: postgres.url });
try {
  const logins = databaseLogins(postgres.url);
  if (cluster === undefined) await migrate(postgres.url, logins);
  await admin.connect();
  const loading = performance.now();
  const workspace = await loadMessages(admin, MESSAGES);
  await admin.query(`
    insert into lines (workspace_id, id, channel, phone, carrier, daily_total_limit, daily_new_limit, min_gap_seconds, contact_gap_seconds)
    values ('${workspace.id}', '${workspace.lineId}', 'imessage', '+14155550100', 'simulated', 150, 50, 20, 60);
    insert into campaigns (workspace_id, id, name, steps) values ('${workspace.id}', '${workspace.campaignId}', 'Spring', '[]')`);
  console.log(`loaded in ${seconds(performance.now() - loading)} s`);
  // The index that the plain query uses to find a window.
  await admin.query('create index messages_created on messages (workspace_id, created_at)');
  await sizes();

  const pools = await createPools(logins, { size: 2, statementTimeoutMs: 600_000 });
  const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> => withTenant(pools, workspace.id, work);
  const counting = performance.now();
  while (await tenant(countSome));
  console.log(`metrics by the day were counted in ${seconds(performance.now() - counting)} s`);
  await admin.query('vacuum (analyze) analytics_days, analytics_hours, analytics_progress');
  await admin.query('select note_workspace_sizes()');
  await sizes();
  const ask = async (name: string, filter: AnalyticsFilter, goal?: number): Promise<void> => {
    const { ours, plain } = await inTurn(
      () => tenant((db) => countMessages(db, filter, 'UTC')),
      () => tenant((db) => plainCounts(db, filter)),
    );
    if (JSON.stringify(sorted(ours.result)) !== JSON.stringify(sorted(plain.result)))
      throw new Error(
        `${name}: ${JSON.stringify(ours.result)} is not ${JSON.stringify(plain.result)}, which a plain query counts`,
      );
    compare(name, ours.ms, plain.ms, goal);
  };
  const until = new Date(END.getTime() - 1);
  const month = { from: new Date(END.getTime() - 30 * DAY_MS), to: until };
  const year = { from: new Date(END.getTime() - 365 * DAY_MS), to: until };
  const day = { from: new Date(END.getTime() - DAY_MS), to: until };
  const HOUR_MS = 3_600_000;
  const cut = { from: new Date(month.from.getTime() + HOUR_MS), to: new Date(until.getTime() - HOUR_MS) };
  const questions: [string, AnalyticsFilter, number?][] = [
    ['all time', {}],
    ['the last 365 days', year],
    ['the last 30 days', month],
    ['30 days, cut within a day', cut, GOAL_OF_PARTS],
    [
      '30 days, cut in the middle of a day',
      { from: new Date(month.from.getTime() + 9.6 * HOUR_MS), to: new Date(until.getTime() - 8.8 * HOUR_MS) },
      GOAL_OF_PARTS,
    ],
    ['365 days, cut within a day', { ...cut, from: new Date(year.from.getTime() + HOUR_MS) }, GOAL_OF_PARTS],
    ['the last day', day],
    ['one line of 100', { lineId: workspace.lineId }],
    ['one campaign of 50', { campaignId: workspace.campaignId }],
    ['one user of 3', { userId: workspace.userId }],
    ['one line, the last 30 days', { lineId: workspace.lineId, ...month }],
  ];
  for (const [name, filter, goal] of questions) await ask(name, filter, goal);
  let sentMore = 0;
  const send = async (count: number): Promise<void> => {
    await sendMore(admin, workspace, { first: sentMore, count, contacts: Math.ceil(MESSAGES / 4) });
    sentMore += count;
  };
  for (const count of CHANGED) {
    await send(count);
    const changes = `with ${count.toLocaleString('en')} changes to add`;
    await ask(`all time, ${changes}`, {}, GOAL_OF_PARTS);
    await ask(`the last 30 days, ${changes}`, month, GOAL_OF_PARTS);
    await ask(`one line, ${changes}`, { lineId: workspace.lineId }, GOAL_OF_PARTS);
    const adding = performance.now();
    while (await tenant(countSome));
    console.log(`${count} changes were added in ${seconds(performance.now() - adding)} s`);
  }
  const stopsCounting = new AbortController();
  const counted = countChanges(pools, { warn: console.warn }, stopsCounting.signal);
  const stopping = new AbortController();
  const sending = (async () => {
    for (; !stopping.signal.aborted; await pause(100)) await send(RATE / 10);
  })();
  for (const [name, filter] of [
    ['all time', {}],
    ['the last 30 days', month],
    ['one line', { lineId: workspace.lineId }],
  ] as const) {
    await pause(2000);
    const busy = await inTurn(
      () => tenant((db) => countMessages(db, filter, 'UTC')),
      () => tenant((db) => plainCounts(db, filter)),
    );
    compare(
      `${name}, while ${RATE} messages are sent each second`,
      busy.ours.ms,
      busy.plain.ms,
      GOAL_OF_PARTS,
    );
  }
  stopping.abort();
  await sending;
  stopsCounting.abort();
  await counted;
  while (await tenant(countSome));
  const days = buckets('day', 'UTC', month);
  const daily = await inTurn(
    () => tenant((db) => countByBucket(db, month, days, { ofBuckets: 'UTC', ofWorkspace: 'UTC' })),
    () => tenant((db) => plainSeries(db, month)),
  );
  compare('the last 30 days by the day', daily.ours.ms, daily.plain.ms);
  for (const [hourly, zone] of [
    ['the last 30 days by the hour', 'UTC'],
    ['the last 30 days by the hour of a zone that is half an hour off', 'Asia/Kolkata'],
  ] as const) {
    const hours = buckets('hour', zone, month);
    const series = await inTurn(
      () => tenant((db) => countByBucket(db, month, hours, { ofBuckets: zone, ofWorkspace: 'UTC' })),
      () => tenant((db) => plainSeries(db, month)),
    );
    compare(hourly, series.ours.ms, series.plain.ms);
  }
  const listed = await timed(() =>
    tenant((db) =>
      conversationsOfDay(db, { start: day.from, end: day.to }, { lineId: undefined, limit: 60 }),
    ),
  );
  console.log(`the conversations of a day: ${seconds(listed.ms)} s`);

  // A cluster explains no statement after others of its transaction.
  for (const filter of cluster === undefined ? [{}, month] : [])
    console.log(`\n${(await tenant((db) => explained(db, filter))).join('\n\n')}`);
  await pools.close();
  if (cluster === undefined) measured.push(...(await measureWrites(admin, 40)));
  await report(measured);
} finally {
  await admin.end();
  await postgres.stop();
  removeTemporaryFolder(folder);
}

/** The definitions of the metrics as plain SQL. */
async function plainCounts(db: TenantDb, { lineId, campaignId, userId, from = BEGIN, to }: AnalyticsFilter) {
  const narrowed = (column: string) =>
    sql.fragment`${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId}`,
      lineId !== undefined && sql.fragment`line_id = ${lineId}`,
      campaignId !== undefined && sql.fragment`campaign_id = ${campaignId}`,
      to !== undefined &&
        sql.fragment`${sql.identifier([column])} between ${sql.timestamp(from)} and ${sql.timestamp(to)}`,
      userId !== undefined &&
        (column === 'created_at'
          ? sql.fragment`created_by_user_id = ${userId}`
          : sql.fragment`original_message_id in (
            select id from messages where workspace_id = ${db.workspaceId} and created_by_user_id = ${userId})`),
    ])}`;
  const outbound = await db.one(sql.type(z.record(z.string(), z.int()))`
    select count(distinct address) filter (where status in ('sent', 'delivered')) reached,
      count(*) filter (where status in ('sent', 'delivered')) sent,
      count(*) filter (where status = 'fallback' or fallback_sms = 'dispatched') fallback,
      count(*) filter (where status = 'failed') failed
    from messages where ${narrowed('created_at')} group by workspace_id`);
  const inbound = await db.maybeOne(sql.type(z.record(z.string(), z.int()))`
    select count(*) replied, count(distinct i.address) filter (where not auto_reply) unique_replied,
      count(distinct i.address) filter (where not auto_reply and c.tags = '{Interested}') positive_replied
    from (select * from inbound_messages where ${narrowed('received_at')}) i
    left join conversations c using (workspace_id, address) group by workspace_id`);
  return { ...NO_COUNTS, ...outbound, ...inbound };
}

async function plainSeries(db: TenantDb, { from, to }: { from: Date; to: Date }): Promise<unknown> {
  const within = (column: string) =>
    sql.fragment`workspace_id = ${db.workspaceId}
      and ${sql.identifier([column])} between ${sql.timestamp(from)} and ${sql.timestamp(to)}`;
  await db.any(sql.type(z.unknown())`
    select date_bin('1 hour', created_at, '2000-01-01 00:30Z') "hour",
      count(distinct address) filter (where status in ('sent', 'delivered')) reached,
      count(*) filter (where status in ('sent', 'delivered')) sent,
      count(*) filter (where status = 'fallback' or fallback_sms = 'dispatched') fallback,
      count(*) filter (where status = 'failed') failed
    from messages where ${within('created_at')} group by 1`);
  return db.any(sql.type(z.unknown())`
    select date_bin('1 hour', received_at, '2000-01-01 00:30Z') "hour", count(*) replied,
      count(distinct i.address) filter (where not auto_reply) unique_replied,
      count(distinct i.address) filter (where not auto_reply and c.tags = '{Interested}') positive_replied
    from (select * from inbound_messages where ${within('received_at')}) i
    left join conversations c using (workspace_id, address) group by 1`);
}

/** The executed plans of the queries behind a response. */
async function explained(db: TenantDb, filter: AnalyticsFilter): Promise<string[]> {
  const plans: string[] = [];
  const watched = Object.assign(Object.create(db) as TenantDb, {
    any: async ({ sql: text, values }: { sql: string; values: readonly unknown[] }) => {
      const query = sql.type(z.record(z.string(), z.string()))`select`;
      const rows = await db.any({
        ...query,
        sql: `explain (analyze, buffers, timing off) ${text}`,
        values: values as never,
      });
      plans.push(rows.flatMap((row) => Object.values(row)).join('\n'));
      return [];
    },
  });
  await countMessages(watched, filter, 'UTC');
  return plans;
}

async function sizes(): Promise<void> {
  const { rows } = await admin.query<{ name: string; size: string }>(`
    select relname "name", pg_size_pretty(pg_relation_size(oid)) size from pg_class
    where relname in ('messages', 'messages_created', 'messages_counted', 'inbound_messages', 'inbound_messages_counted', 'analytics_days',
      'analytics_days_pkey', 'analytics_hours', 'analytics_hours_pkey')
    order by relname`);
  for (const { name, size } of rows) console.log(`${name}: ${size}`);
}

/** Alternates both, so that other load affects them equally. @returns the times of all rounds. */
async function inTurn<A, B>(ours: () => Promise<A>, plain: () => Promise<B>) {
  const [first, second] = [await timed(ours), await timed(plain)];
  const times = { ours: [first.ms], plain: [second.ms] };
  for (let round = 1; round < ROUNDS; round += 1) {
    times.ours.push((await timed(ours)).ms);
    times.plain.push((await timed(plain)).ms);
  }
  return {
    ours: { result: first.result, ms: times.ours },
    plain: { result: second.result, ms: times.plain },
  };
}

async function timed<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const started = performance.now();
  const result = await work();
  return { result, ms: performance.now() - started };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}

function compare(name: string, ms: number[], plainMs: number[], goal = GOAL): void {
  const row = {
    work: `analytics of ${MESSAGES.toLocaleString('en')} messages: ${name}`,
    unit: 'ms',
    more: false,
  };
  measured.push(
    { ...row, subject: LINEPACE, values: ms },
    { ...row, subject: 'plain group by', values: plainMs, goal },
  );
  const [ours, plain] = [median(ms), median(plainMs)];
  console.log(`${name}: ${seconds(ours)} s, plain ${seconds(plain)} s, ratio ${(ours / plain).toFixed(3)}`);
}

function sorted(counts: Counts): unknown {
  return Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
