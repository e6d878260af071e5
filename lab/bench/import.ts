import { rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createPools } from '../../db/connection/pools.ts';
import { freePort } from '../../providers/free-port.ts';
import { startProcess } from '../../test/support/process.ts';
import { temporaryFolder } from './support/leftovers.ts';
import { watchMemory } from './support/memory.ts';
import { LINEPACE, report } from './support/rows.ts';
import { startServers } from './support/servers.ts';
import { createBenchWorkspace } from './support/workspace.ts';

/**
 * Measures the speed and memory of an import with an API process, a worker process and a durable PostgreSQL. One row in a
 * hundred is a duplicate and one is rejected. Afterwards the rejected rows are fetched, the list is exported, and leads
 * are searched.
 */
const { values: options } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const ROWS = Number(options.rows);

const dataDir = temporaryFolder('linepace-bench-files-');
process.env['DATA_DIR'] = dataDir;
const { config, stop } = await startServers();
const pools = await createPools(config.database, { size: 2 });
const workspace = await createBenchWorkspace(pools, 0);
const port = await freePort();
const [api, worker] = await Promise.all([
  startProcess('api/server.ts', config, port),
  startProcess('workers/worker.ts', config),
]);

const call = (path: string, init: RequestInit & { duplex?: 'half' } = {}, type = 'application/json') =>
  fetch(`http://localhost:${port}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${workspace.key}`, 'content-type': type },
  });

function* csv() {
  yield 'First Name,Last Name,Email,Phone,Company,City\n';
  for (let start = 0; start < ROWS; start += 1000) {
    let chunk = '';
    for (let row = start; row < Math.min(start + 1000, ROWS); row += 1) {
      const person = row % 100 === 99 ? row - 1 : row;
      const phone = row % 100 === 50 ? 'none' : `+1415${String(2_000_000 + person).padStart(7, '0')}`;
      chunk += `Ada${row},Lovelace,person${person}@example.com,${phone},Company ${row % 1000},City ${row % 300}\n`;
    }
    yield chunk;
  }
}

interface Progress {
  status: string;
  processed: number;
  saved: number;
  duplicates: number;
  rejected: number;
}

const seconds = (since: number): number => (performance.now() - since) / 1000;
const say = (name: string, rows: number, took: number): void =>
  console.log(`${name}: ${rows} rows in ${took.toFixed(1)} s, ${Math.round(rows / took)} a second`);

const list = (await (await call('/api/lists', { method: 'POST', body: '{"name":"Bench"}' })).json()) as {
  list: { _id: string };
};
const listPath = `/api/lists/${list.list._id}`;
const pids = { api: api.pid, worker: worker.pid };

const imported = await watchMemory(pids, async () => {
  const started = performance.now();
  const body = Readable.toWeb(Readable.from(csv())) as ReadableStream;
  const response = await call(`${listPath}/import`, { method: 'POST', body, duplex: 'half' }, 'text/csv');
  const { importId } = (await response.json()) as { importId: string };
  console.log(`uploaded in ${seconds(started).toFixed(1)} s`);
  for (;;) {
    const progress = (await (await call(`${listPath}/imports/${importId}`)).json()) as Progress;
    if (progress.status !== 'running') return { importId, progress, took: seconds(started) };
    await pause(1000);
  }
});
say('import', ROWS, imported.result.took);
console.log('import:', JSON.stringify(imported.result.progress));
console.log(
  'memory in MB, before and at most:',
  JSON.stringify(imported.before),
  JSON.stringify(imported.peak),
);

const work = `an import of ${ROWS.toLocaleString('en')} rows`;
await report([
  {
    work,
    subject: LINEPACE,
    unit: 'rows a second',
    more: true,
    values: [ROWS / imported.result.took],
    goal: 1_000_000 / 120,
  },
  {
    work: `${work}: the worker at most`,
    subject: LINEPACE,
    unit: 'MB',
    more: false,
    values: [imported.peak['worker'] ?? NaN],
    goal: 400,
  },
]);

const refused = await (await call(`${listPath}/imports/${imported.result.importId}/rejected`)).text();
const refusedRows = refused.trimEnd().split('\n');
console.log(`refused rows: ${refusedRows.length - 1}, such as ${refusedRows[1]}`);

const exported = await watchMemory(pids, async () => {
  const started = performance.now();
  let lines = 0;
  const response = await call(`${listPath}/export`);
  for await (const chunk of response.body ?? [])
    for (const byte of chunk as Uint8Array) if (byte === 10) lines += 1;
  return { lines, took: seconds(started) };
});
say('export', exported.result.lines - 1, exported.result.took);
console.log(
  'memory in MB, before and at most:',
  JSON.stringify(exported.before),
  JSON.stringify(exported.peak),
);

for (const search of [
  `person${ROWS - 2}@`,
  'Ada7777 Love',
  'Company 77',
  'example.com',
  'nobody at all',
  'zz',
]) {
  const started = performance.now();
  const response = await call(`/api/leads?search=${encodeURIComponent(search)}`);
  const { leads } = (await response.json()) as { leads: unknown[] };
  console.log(`search for "${search}": ${leads.length} on the first page, ${seconds(started).toFixed(3)} s`);
}

await Promise.all([api.kill(), worker.kill()]);
await pools.close();
await stop();
rmSync(dataDir, { recursive: true, force: true });
