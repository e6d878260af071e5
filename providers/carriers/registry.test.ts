import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { startTlsProxy } from '#test/support/tls-proxy.ts';
import { createGuard } from '../egress-guard.ts';
import { createCarriers } from './registry.ts';
import { telnyxCarrier } from './telnyx.ts';

const SUBJECT = {
  lineId: null,
  address: '+14155550123',
  callbackUrl: null,
  reachCallbacks: async () => ({ result: 'pass', text: '' }) as const,
};
const TLS = join(import.meta.dirname, '../../test/fixtures/tls');

const guard = createGuard({ allowPrivate: true, httpsOnly: false });

test('a line that names a server can name the authority of its certificate', () => {
  const carriers = createCarriers({
    testSends: { keep: async () => true, has: async () => true },
    simulator: null,
    guard,
    untrusted: { run: () => Promise.reject(new Error('nothing is read')), close() {} },
  });
  onTestFinished(() => carriers.close());
  const servers = carriers.connectable.flatMap((name) => {
    const { properties = {} } = z.toJSONSchema(carriers.get(name).config, { io: 'input' });
    const urls = Object.keys(properties).filter((field) => /url$/i.test(field));
    return urls.length > 0 ? [{ name, hasCa: 'caCertificates' in properties }] : [];
  });
  expect(servers.map(({ name }) => name).toSorted()).toEqual([
    'bluebubbles',
    'linq',
    'sendblue',
    'smtp',
    'telnyx',
    'twilio',
  ]);
  expect(servers.filter(({ hasCa }) => !hasCa)).toEqual([]);
});

test('calls are counted, except those of test mode', async () => {
  const counted: string[] = [];
  const carriers = createCarriers({
    testSends: { keep: async () => true, has: async () => true },
    simulator: null,
    guard,
    untrusted: { run: () => Promise.reject(new Error('nothing is read')), close() {} },
    onCall: ({ carrier }) => counted.push(carrier),
  });
  onTestFinished(() => carriers.close());
  await carriers.get('test').probe({}, 'line', SUBJECT.address);
  await carriers
    .get('bluebubbles')
    .probe({ serverUrl: 'http://127.0.0.1:1', password: 'x' }, 'line', SUBJECT.address)
    .catch(() => {});
  expect(counted).toEqual(['bluebubbles']);
});

test("a service's server with a certificate of an authority of its own is reached", async () => {
  const server = createServer((_request, response) => void response.writeHead(401).end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = await startTlsProxy(TLS);
  const carrier = telnyxCarrier({ guard });
  onTestFinished(async () => {
    await carrier.close();
    await proxy.close();
    server.close();
  });
  proxy.to((server.address() as AddressInfo).port);
  const settings = {
    apiKey: 'KEY1',
    publicKey: Buffer.alloc(32).toString('base64'),
    baseUrl: `https://localhost:${proxy.port}`,
  };
  const reached = async (given: object) => {
    const config = carrier.config.parse({ ...settings, ...given });
    for await (const { name, result } of carrier.checkConnection(config, SUBJECT))
      if (name === 'server') return result;
    return null;
  };
  expect(await reached({})).toBe('fail');
  expect(await reached({ caCertificates: readFileSync(join(TLS, 'authority.pem'), 'utf8') })).toBe('pass');
});
