import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { createPools } from '../../db/connection/pools.ts';
import { freePort } from '../../providers/free-port.ts';
import { startProcess } from '../../test/support/process.ts';
import { temporaryFolder } from './support/leftovers.ts';
import { watchMemory } from './support/memory.ts';
import { startServers } from './support/servers.ts';
import { inParallel } from './support/waiting.ts';
import { createBenchWorkspace } from './support/workspace.ts';

/**
 * Measures the API's memory during uploads of 25 MB each, which are then downloaded again:
 * `npm run bench -- uploads [--files 200 --at-once 20]`. Finally uploads a file of one byte more, and one of 1 GB.
 */
const { values: options } = parseArgs({
  options: { files: { type: 'string', default: '200' }, 'at-once': { type: 'string', default: '20' } },
});
const FILES = Number(options.files);
const AT_ONCE = Number(options['at-once']);
const MB = 1024 * 1024;
const LIMIT = 25 * MB;

const dataDir = temporaryFolder('linepace-bench-files-');
process.env['DATA_DIR'] = dataDir;
const { config, stop } = await startServers();
const pools = await createPools(config.database, { size: 2 });
// Each workspace may upload 120 files a minute.
const workspaces = await Promise.all(
  Array.from({ length: Math.ceil(FILES / 100) }, () => createBenchWorkspace(pools, 0)),
);
const port = await freePort();
const api = await startProcess('api/server.ts', config, port);
const pids = { api: api.pid };
const numbers = Array.from({ length: FILES }, (_, number) => number);
const chunk = Buffer.alloc(64 * 1024, 'x');

/** Uploads a generated file of `bytes` bytes. @returns the response and how much was sent until it arrived. */
function upload(
  number: number,
  bytes: number,
): Promise<{ status: number | undefined; body: unknown; sent: number }> {
  let sent = 0;
  const form = Readable.from(
    (function* () {
      yield '--b\r\nContent-Disposition: form-data; name="file"; filename="a.mov"\r\nContent-Type: video/quicktime\r\n\r\n';
      for (; sent < bytes; sent += chunk.length)
        yield chunk.subarray(0, Math.min(chunk.length, bytes - sent));
      yield '\r\n--b--\r\n';
    })(),
    { objectMode: false },
  );
  return new Promise((resolve, reject) => {
    const call = request(`http://localhost:${port}/api/attachments/upload`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${workspaces[number % workspaces.length]?.key}`,
        'content-type': 'multipart/form-data; boundary=b',
      },
    });
    call.on('response', (answer) => {
      const answered = Math.min(sent, bytes);
      void json(answer)
        .then((body) => resolve({ status: answer.statusCode, body, sent: answered }), reject)
        .finally(() => form.destroy());
    });
    call.on('error', reject);
    form.pipe(call);
  });
}

async function inSteps(name: string, work: (number: number) => Promise<void>): Promise<void> {
  console.log(`${name}, ${AT_ONCE} at a time:`);
  const step = Math.ceil(FILES / 4);
  for (let start = 0; start < FILES; start += step) {
    const started = performance.now();
    const part = numbers.slice(start, start + step);
    const { before, peak } = await watchMemory(pids, () => inParallel(part, AT_ONCE, work));
    const seconds = (performance.now() - started) / 1000;
    console.log(
      `  files ${start + 1} to ${start + part.length}: ${before['api']} MB at first, at most ${peak['api']} MB,`,
      `${Math.round((part.length * 25) / seconds)} MB a second`,
    );
  }
}

const links: string[] = [];
await inSteps(`${FILES} uploads of 25 MB`, async (number) => {
  const { status, body } = await upload(number, LIMIT);
  if (status !== 200) throw new Error(`the response was ${status}: ${JSON.stringify(body)}`);
  links[number] = (body as { url: string }).url.replace(/^https?:\/\/[^/]+/, `http://localhost:${port}`);
});
await inSteps('the same downloaded', async (number) => {
  let size = 0;
  const { body } = await fetch(links[number] ?? '');
  for await (const part of body ?? []) size += part.length;
  if (size !== LIMIT) throw new Error(`${size} bytes came back`);
});
for (const [name, bytes] of [
  ['25 MB and a byte', LIMIT + 1],
  ['1 GB', 1024 * MB],
] as const) {
  const { status, body, sent } = await upload(0, bytes);
  console.log(`a file of ${name}: ${status} ${JSON.stringify(body)} after ${(sent / MB).toFixed(1)} MB`);
}

await api.kill();
await pools.close();
await stop();
rmSync(dataDir, { recursive: true, force: true });
