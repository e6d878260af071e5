import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { createPools } from '../../db/connection/pools.ts';
import { systemDb, withSystem } from '../../db/connection/transactions.ts';
import { claimOverdue } from '../../db/wakes/wakes.ts';
import { startServers } from './support/servers.ts';

/**
 * Measures the sweep for overdue workflows: `npm run bench -- sweep [--rows 1000000]`. Nearly all workflows are idle or
 * not due; 5,000 are overdue and cannot be woken, and a few became overdue after them.
 */
const { values: options } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const ROWS = Number(options.rows);
const STUCK = 5000;
const FRESH = 50;
const RUNS = 10;

const servers = await startServers();
const pools = await createPools(servers.config.database, { size: 2, statementTimeoutMs: 300_000 });
const db = systemDb(pools);
const NoRows = z.unknown();

await db.query(
  sql.type(
    NoRows,
  )`insert into workspaces (id, name) select 'w' || n, 'Bench' from generate_series(1, 1000) n`,
);
await db.query(sql.type(NoRows)`
  insert into workflow_wakes (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by)
  select 'w' || (1 + n % 1000), 'line-pacer:' || n, at, at + interval '30 seconds', '0', '0'
  from generate_series(1, ${ROWS}) n, lateral (
    select case
      when n <= ${STUCK} then now() - interval '1 hour'
      when n <= ${STUCK + FRESH} then now() - interval '2 minutes'
      when n % 10 = 0 then now() + make_interval(secs => n)
      else 'infinity'
    end at
  ) wake`);
await db.query(sql.type(NoRows)`analyze workflow_wakes`);

const woken: string[] = [];
const times: number[] = [];
for (let run = 0; run < RUNS; run += 1) {
  const started = performance.now();
  const claimed = await claimOverdue(db, STUCK);
  times.push(performance.now() - started);
  woken.push(`${claimed.length}`);
}
const fresh = await withSystem(pools, (tx) =>
  tx.oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) "count" from workflow_wakes where wake_at < now() and sweep_at < now()`),
);
console.log(`${ROWS} rows, ${STUCK} of them stuck: ${RUNS} sweeps claimed ${woken.join(', ')}`);
console.log(`ms each: ${times.map((ms) => ms.toFixed(1)).join(', ')}; overdue and not claimed: ${fresh}`);
const plan = await db.anyFirst(sql.type(z.object({ 'QUERY PLAN': z.string() }))`
  explain (analyze, buffers, costs off) select workflow_id from workflow_wakes
  where sweep_at < now() and sweep_at < 'infinity' order by sweep_at limit ${STUCK} for update skip locked`);
console.log(plan.join('\n'));

await pools.close();
await servers.stop();
