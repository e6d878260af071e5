import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { planSends } from '../../db/commands/sending/send-plan.ts';
import { createPools } from '../../db/connection/pools.ts';
import { systemDb, withTenant } from '../../db/connection/transactions.ts';
import { newId } from '../../domain/base/ids.ts';
import { startServers } from './support/servers.ts';
import { createBenchWorkspace, unpaced } from './support/workspace.ts';

/**
 * Measures a plan on a line with a backlog: `npm run bench -- capped-line [--due 50000]`. Each case has its own line with
 * that many due messages and makes one plan that sends little or nothing: milliseconds, rows of messages written and bytes
 * of WAL.
 */
const { values } = parseArgs({ options: { due: { type: 'string', default: '50000' } } });
const DUE = Number(values.due);
const TIMEOUT_MS = 20_000;
const HOUR_MS = 3_600_000;

const servers = await startServers();
const pools = await createPools(servers.config.database, { size: 4, statementTimeoutMs: 600_000 });
const db = systemDb(pools);
const run = (query: ReturnType<typeof sql.unsafe>) => db.query(query);

/** The middle of the current hour, so that the hour does not end during the run. */
const NOW = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS / 2);
const { id: workspaceId, lineIds } = await createBenchWorkspace(pools, 7);
await unpaced(pools, workspaceId);
const line = (): string => lineIds.pop() ?? '';

interface Backlog {
  window?: string;
  campaignId?: string;
}

/** Inserts `DUE` messages to new contacts, due since yesterday. */
async function fill(lineId: string, { window, campaignId }: Backlog = {}): Promise<void> {
  // Lines share no contacts.
  const prefix = `+1${400 + lineIds.length}`;
  await run(sql.unsafe`
    insert into messages (workspace_id, id, channel, status, line_id, address, recipient_phone, body, scheduled_at, source,
      window_timezone, window_start, window_end, campaign_id)
    select ${workspaceId}, ${lineId.slice(-6)} || lpad(to_hex(n), 18, '0'), 'imessage', 'pending', ${lineId}, ${prefix} || (2000000 + n),
      ${prefix} || (2000000 + n), 'Hello', ${sql.timestamp(new Date(NOW.getTime() - 24 * HOUR_MS))}, 'api',
      ${window === undefined ? null : 'UTC'}, ${window?.split('-')[0] ?? null}, ${window?.split('-')[1] ?? null}, ${campaignId ?? null}
    from generate_series(1, ${DUE}) n`);
}

/** Inserts attempts to new contacts at a time. */
async function insertAttempts(lineId: string, count: number, at: Date): Promise<void> {
  await run(sql.unsafe`
    insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at, answer_by, outcome)
    select ${workspaceId}, ${lineId.slice(-6)} || lpad(to_hex(n + 10000000), 18, '0'), ${newId()}, ${lineId}, 'primary', 'imessage', 'simulated',
      '+13000000000', true, ${sql.timestamp(at)}, ${sql.timestamp(at)}, 'accepted' from generate_series(1, ${count}) n`);
}

const rows: string[][] = [];

async function measure(name: string, lineId: string, now: Date): Promise<void> {
  const state = () =>
    db.one(sql.type(z.object({ at: z.date(), wal: z.string() }))`
      select clock_timestamp() "at", pg_current_wal_insert_lsn()::text wal`);
  const before = await state();
  const started = performance.now();
  const plan = await withTenant(pools, workspaceId, (tenant) =>
    planSends(tenant, lineId, TIMEOUT_MS, () => now),
  );
  const ms = performance.now() - started;
  const { wal } = await state();
  const { written, bytes } = await db.one(sql.type(z.object({ written: z.int(), bytes: z.int() }))`
    select count(*) written, pg_wal_lsn_diff(${wal}, ${before.wal})::int bytes
    from messages where line_id = ${lineId} and updated_at >= ${sql.timestamp(before.at)}`);
  const sends = plan
    ? `${plan.claims.length} sent; ${plan.reason}, ${plan.nextAt?.toISOString() ?? 'no time'}`
    : '-';
  rows.push([name, ms.toFixed(1), `${written}`, `${bytes}`, sends]);
}

const hourly = line();
await fill(hourly);
await run(sql.unsafe`update lines set hourly_new_limit = 3 where id = ${hourly}`);
await insertAttempts(hourly, 3, NOW);
await run(sql.unsafe`vacuum analyze messages`);
await measure('the hourly cap is reached', hourly, NOW);
await measure('the same once more', hourly, new Date(NOW.getTime() + 1000));
await run(
  sql.unsafe`insert into line_contacts (workspace_id, line_id, address, since) values (${workspaceId}, ${hourly}, '+14155550199', now())`,
);
await run(sql.unsafe`
  insert into messages (workspace_id, id, channel, status, line_id, address, recipient_phone, body, scheduled_at, source)
  values (${workspaceId}, ${newId()}, 'imessage', 'pending', ${hourly}, '+14155550199', '+14155550199', 'Hello', ${sql.timestamp(NOW)}, 'api')`);
await measure('a message to a known contact behind them', hourly, new Date(NOW.getTime() + 2000));
await run(sql.unsafe`vacuum analyze messages`);
await measure('the next hour: three may go', hourly, new Date(NOW.getTime() + HOUR_MS));
await measure('its cap is reached', hourly, new Date(NOW.getTime() + HOUR_MS + 1000));

const daily = line();
await fill(daily);
await run(sql.unsafe`update lines set daily_total_limit = 3 where id = ${daily}`);
await insertAttempts(daily, 3, NOW);
await run(sql.unsafe`vacuum analyze messages`);
await measure('the day is used up', daily, NOW);

const closed = line();
await fill(closed, { window: '00:00-00:01' });
await run(sql.unsafe`vacuum analyze messages`);
await measure('their window is closed', closed, NOW);

const paused = line();
const campaignId = newId();
await run(
  sql.unsafe`insert into campaigns (workspace_id, id, name, status, steps) values (${workspaceId}, ${campaignId}, 'Paused', 'paused', '[]')`,
);
await fill(paused, { campaignId });
await run(sql.unsafe`vacuum analyze messages`);
await measure('their campaign is paused', paused, NOW);

const waiting = line();
await fill(waiting);
await run(sql.unsafe`update lines set min_gap_seconds = 100 where id = ${waiting}`);
await insertAttempts(waiting, 1, NOW);
await run(sql.unsafe`vacuum analyze messages`);
await measure('the line waits for its gap', waiting, new Date(NOW.getTime() + 1000));

const free = line();
await fill(free);
await run(sql.unsafe`vacuum analyze messages`);
await measure('nothing holds them: 16 leave', free, NOW);
await measure('16 more', free, new Date(NOW.getTime() + 1000));

const TITLES = [
  `one plan, ${DUE.toLocaleString('en')} due`,
  'ms',
  'rows of messages written',
  'bytes of WAL',
  'what it came to',
];
const table = [TITLES, TITLES.map(() => '-'), ...rows];
console.log(table.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));

await pools.close();
await servers.stop();
