import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MockActivityEnvironment } from '@temporalio/testing';
import pg from 'pg';
import { pino } from 'pino';
import { createLineHealthActivities } from '../../activities/lines/line-health.ts';
import type { Dependencies } from '../../activities/dependencies.ts';
import { createPools } from '../../db/connection/pools.ts';
import { PROBES_A_MINUTE } from '../../domain/lines/line-health.ts';
import { simulatedCarrier } from '../../providers/carriers/simulated.ts';
import { createSecretBox } from '../../providers/secret-box.ts';
import { startServers } from './support/servers.ts';
import { usageOf } from './support/usage.ts';

/**
 * Measures probes of all lines of a carrier: `npm run bench -- probes [--lines 100000 --workspaces 1000 --ms 100]`. The carrier is a
 * server in a process of its own, which answers after some milliseconds; the lines of one workspace hang.
 */
const { values: options } = parseArgs({
  options: {
    lines: { type: 'string', default: '100000' },
    workspaces: { type: 'string', default: '1000' },
    ms: { type: 'string', default: '100' },
    carrier: { type: 'boolean', default: false },
  },
});
const LINES = Number(options.lines);
const WORKSPACES = Number(options.workspaces);
const CYCLE_SECONDS = 300;

if (options.carrier) serveCarrier();
else await measure();

/** Answers probes; those of hanging lines never. */
function serveCarrier(): void {
  const server = createServer((request, response) => {
    if (!request.url?.includes('lineId=f')) setTimeout(() => response.end('{}'), Number(options.ms));
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
  process.once('disconnect', () => process.exit());
}

async function measure(): Promise<void> {
  const servers = await startServers();
  const carrierProcess = fork(import.meta.filename, ['--carrier', '--ms', options.ms]);
  const [port] = await once(carrierProcess, 'message');
  const pools = await createPools(servers.config.database, { size: 10, statementTimeoutMs: 60_000 });
  const carrier = simulatedCarrier({ url: `http://127.0.0.1:${port}`, secret: 'bench' });
  const { carriersToProbe, probeLines } = createLineHealthActivities({
    pools,
    carriers: { get: () => carrier },
    secrets: createSecretBox(servers.config.encryptionKeys),
    logger: pino({ level: 'error' }),
  } as unknown as Dependencies);
  const owner = new pg.Client({ connectionString: servers.ownerUrl });
  await owner.connect();
  await owner.query(`set app.migrating = 'on'`);
  await owner.query(
    `insert into workspaces (id, name) select 'w' || n, 'Bench' from generate_series(0, $1::int) n`,
    [WORKSPACES],
  );
  await owner.query(
    `insert into lines (workspace_id, id, channel, phone, provisioning_status, carrier, daily_total_limit, daily_new_limit,
       hourly_new_limit, min_gap_seconds, contact_gap_seconds, health_status, health_checked_at)
     select 'w' || n % $2::int, lpad(to_hex(n), 24, '0'), 'imessage', '+1' || (2000000000 + n), 'active', 'simulated', 150, 50, 7, 60, 60,
       'healthy', now() - make_interval(secs => n % $3::int)
     from generate_series(1, $1::int) n`,
    [LINES, WORKSPACES, CYCLE_SECONDS],
  );
  await owner.query('vacuum analyze lines');
  const run = <T>(activity: () => Promise<T>): Promise<T> => new MockActivityEnvironment().run(activity);

  /** Probes what is due, as a turn of housekeeping does, and counts processor time. */
  async function turn(what: string): Promise<void> {
    const used = () => ({
      worker: process.cpuUsage(),
      postgres: usageOf({ postgres: servers.pids.postgres }).postgres.cpu,
      at: performance.now(),
    });
    const before = used();
    const carriers = await run(() => carriersToProbe());
    const asked = used();
    let probed = 0;
    for (const name of carriers) probed += await run(() => probeLines({ carrier: name }));
    // PostgreSQL's processes are counted in hundredths of a second.
    await pause(100);
    const after = used();
    const worker =
      (after.worker.user + after.worker.system - before.worker.user - before.worker.system) / 1e6;
    const postgres = after.postgres - before.postgres;
    const perLine = probed > 0 ? ((worker + postgres) / probed) * 1e6 : NaN;
    console.log(
      [
        `${what}: ${probed} lines in ${((after.at - before.at) / 1000).toFixed(1)} s`,
        `(${Math.round(probed / ((after.at - before.at) / 1000))}/s, finding the carriers ${Math.round(asked.at - before.at)} ms)`,
        `worker ${worker.toFixed(2)} s, PostgreSQL ${postgres.toFixed(2)} s; ${perLine.toFixed(0)} us a line`,
        `= ${((perLine * LINES) / CYCLE_SECONDS / 1e4).toFixed(1)} % of a core for ${LINES} lines in ${CYCLE_SECONDS} s`,
      ].join(', '),
    );
  }

  const makeDue = (share: number) =>
    owner.query(
      `update lines set health_checked_at = now() - interval '10 minutes' where workspace_id <> 'hangs' and ('x' || right(id, 6))::bit(24)::int % 100 < $1`,
      [share * 100],
    );
  await turn('warm up');
  for (const round of [1, 2]) {
    await makeDue(0.2);
    await turn(`a turn of five, ${round}`);
  }
  await makeDue(0.2);
  await owner.query(
    `insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at, answer_by, outcome)
     select workspace_id, id, id, id, 'primary', 'imessage', 'simulated', '', false, now() - interval '1 minute', now(), 'accepted' from lines`,
  );
  await owner.query('analyze attempts');
  await turn('a turn of five, lines that have sent lately');
  await owner.query('truncate attempts');
  await owner.query(`insert into workspaces (id, name) values ('hangs', '')`);
  await owner.query(
    `insert into lines (workspace_id, id, channel, phone, provisioning_status, carrier, daily_total_limit, daily_new_limit,
       hourly_new_limit, min_gap_seconds, contact_gap_seconds, health_status, health_checked_at)
     select 'hangs', 'f' || lpad(to_hex(n), 23, '0'), 'imessage', '+1' || (3000000000 + n), 'active', 'simulated', 150, 50, 7, 60, 60,
       'degraded', now() - interval '10 minutes'
     from generate_series(1, $1::int) n`,
    [PROBES_A_MINUTE],
  );
  await makeDue(0.2);
  await turn(`a turn of five, beside ${PROBES_A_MINUTE} lines that hang`);
  const { rows } = await owner.query(
    `select count(*) filter (where workspace_id = 'hangs') hanging, count(*) filter (where workspace_id <> 'hangs') others
     from lines where health_checked_at < now() - interval '9 minutes'`,
  );
  console.log('not probed in that turn:', rows[0]);
  await owner.end();
  carrierProcess.disconnect();
  await Promise.all([pools.close(), carrier.close()]);
  await servers.stop();
}
