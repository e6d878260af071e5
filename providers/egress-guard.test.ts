import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { outbound, smtpWorld } from '#test/conformance/carrier-worlds.ts';
import { smtpCarrier } from './carriers/smtp/smtp.ts';
import { createUntrustedWork } from './untrusted/processes.ts';
import { createGuard, UrlNotAllowed } from './egress-guard.ts';

const at = (address: string) => async () => [{ address, family: 4 }];

test('a socket connects to the address that was just resolved and checked', async () => {
  const server = createServer((socket) => socket.on('error', () => {}).end('welcome'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const open = createGuard({ allowPrivate: true, httpsOnly: false, resolve: at('127.0.0.1') });
  const socket = await open.openSocket('mail.example', port);
  expect(socket.remoteAddress).toBe('127.0.0.1');
  socket.destroy();
  const rebound = createGuard({ allowPrivate: false, httpsOnly: false, resolve: at('127.0.0.1') });
  for (const host of ['mail.example', '127.0.0.1', '::1', 'localhost', 'mail.internal'])
    await expect(rebound.openSocket(host, port)).rejects.toThrow(UrlNotAllowed);
  await new Promise((resolve) => server.close(resolve));
});

test('nothing is sent to a mail server whose name now resolves to a private address', async () => {
  const world = await smtpWorld();
  const guard = createGuard({ allowPrivate: false, httpsOnly: false, resolve: at('127.0.0.1') });
  const carrier = smtpCarrier({ guard, untrusted: createUntrustedWork() });
  const config = carrier.config.parse({ ...world.config, host: 'mail.example' });
  const message = outbound(world, world.to.taken);
  expect(await carrier.send(config, message, new AbortController().signal)).toMatchObject({
    kind: 'transient',
    reason: 'the address is loopback, private or reserved',
  });
  await expect(carrier.probe(config, 'line')).rejects.toThrow('loopback');
  expect(await world.taken(world.to.taken)).toBe(0);
  await carrier.close();
  await world.stop();
});

test('servers of carriers are on the ports of their protocols, except in development', async () => {
  const options = { httpsOnly: false, resolve: at('203.0.114.1') };
  const guard = createGuard({ ...options, allowPrivate: false });
  const [web, mail] = [
    [80, 443],
    [25, 587],
  ];
  for (const url of ['https://carrier.example', 'http://carrier.example', 'https://carrier.example:443/x'])
    await guard.checkUrl(url, web);
  await guard.checkUrl('https://carrier.example:8443');
  await guard.checkHost('mail.example', 587, mail);
  for (const refused of [
    () => guard.checkUrl('https://carrier.example:22', web),
    () => guard.checkUrl('http://carrier.example:6379', web),
    () => guard.checkHost('mail.example', 22, mail),
  ])
    await expect(refused()).rejects.toThrow(/^the port must be one of /);
  await createGuard({ ...options, allowPrivate: true }).checkHost('mail.example', 2525, mail);
});
