import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Agent } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { boundedFetch } from './bounded-fetch.ts';
import { createEgress } from './egress.ts';
import { exchange } from './egress-exchange.ts';
import { timeLimit } from './time-limit.ts';

/** Answers in a thread of its own, while this one is held up. Knows which paths it was asked for. */
const SERVER = `
  const { createServer } = require('node:http');
  const { parentPort } = require('node:worker_threads');
  const paths = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    response.end(JSON.stringify(paths));
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

let server: Worker;
let origin: string;
beforeAll(async () => {
  server = new Worker(SERVER, { eval: true });
  const [port] = (await once(server, 'message')) as [number];
  origin = `http://127.0.0.1:${port}`;
});
afterAll(() => server.terminate());

const ask = (agent: Agent, path: string, signal: AbortSignal) =>
  exchange(agent, { origin, path, method: 'POST', body: 'Hello' }, signal, 1000);
/** As if the process were suspended. */
const holdUp = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test('what a suspended process was about to send does not leave it after its time', async () => {
  const agent = new Agent();
  // In the phase of timers, after which a process handles what has arrived, such as the end of a handshake, and then timers again.
  await pause(1);
  const late = ask(agent, '/late', timeLimit(100));
  holdUp(300);
  expect(await late).toMatchObject({ connected: false, status: null, error: { name: 'TimeoutError' } });
  const { body } = await ask(agent, '/paths', timeLimit(5000));
  expect(JSON.parse(body)).toEqual(['/paths']);
  await agent.close();
});

test('nor does a delivery to a webhook', async () => {
  const egress = createEgress({ allowPrivate: true, httpsOnly: false });
  const post = (path: string, timeoutMs: number) =>
    egress.post(`${origin}${path}`, { headers: {}, body: 'Hello', timeoutMs, maxResponseBytes: 1000 });
  await pause(1);
  const late = post('/late-delivery', 100);
  // Until it is connecting.
  for (let tick = 0; tick < 10; tick += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
  holdUp(300);
  expect(await late).toMatchObject({ connected: false, status: null, error: 'timeout' });
  const { body } = await post('/paths', 5000);
  expect(JSON.parse(body)).not.toContain('/late-delivery');
  await egress.close();
});

test('nor does what a CRM is told', async () => {
  const request = boundedFetch(1000, null, { isPunctual: true });
  const tell = (path: string, ms: number) =>
    request(`${origin}${path}`, { method: 'POST', body: 'Hello', signal: timeLimit(ms) });
  await pause(1);
  const late = tell('/late-news', 100);
  late.catch(() => {});
  for (let tick = 0; tick < 20; tick += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
  holdUp(300);
  await expect(late).rejects.toMatchObject({ name: expect.stringMatching(/TimeoutError|TypeError/) });
  expect(await (await tell('/paths', 5000)).json()).not.toContain('/late-news');
});
