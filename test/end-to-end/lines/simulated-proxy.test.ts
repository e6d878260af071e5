import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { beforeAll, expect, test } from 'vitest';
import { sharedApp, type TestApp } from '#test/support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

/** Not `fetch`, which normalizes paths and sets `Host` itself. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<number> {
  const { hostname, port, host } = new URL(app.url);
  const sent = request({ hostname, port, path, method, headers: { host, ...headers } });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}

const MAILS = '/simulated/mail';

test.each(['127.0.0.1', 'localhost', '[::1]', '192.168.1.20'])(
  'the simulators answer at %s',
  async (name) => {
    const { port } = new URL(app.url);
    expect(await ask(MAILS, { host: `${name}:${port}` })).toBe(200);
  },
);

test('a web page of another site reaches no simulator', async () => {
  const { host } = new URL(app.url);
  // Its own name points at this machine.
  expect(await ask(MAILS, { host: 'evil.example' })).toBe(404);
  const pay = '/simulated/payments/settings';
  expect(await ask(pay, { origin: 'https://evil.example' }, 'POST')).toBe(404);
  expect(await ask(pay, { origin: 'null' }, 'POST')).toBe(404);
  expect(await ask(pay, { 'sec-fetch-site': 'cross-site' }, 'POST')).toBe(404);
  expect(await ask(pay, { origin: `http://${host}` }, 'POST')).not.toBe(404);
});

test.each([
  '/simulated/../carrier/lines',
  '/simulated/%2e%2e/carrier/lines',
  '/simulated/./../carrier/lines',
])('no path leaves the simulators: %s', async (path) => {
  expect(await ask(path)).toBe(404);
});
