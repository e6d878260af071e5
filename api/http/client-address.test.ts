import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { clientAddress, proxySettings } from './client-address.ts';

/** The client address that an application behind this many trusted proxies determines. */
async function addressOf(trustedProxies: number, forwardedFor?: string): Promise<string> {
  const app = new Koa(proxySettings(trustedProxies));
  app.use((context) => {
    context.body = clientAddress(context);
  });
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const headers: Record<string, string> =
    forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  try {
    return await (await fetch(`http://127.0.0.1:${port}/`, { headers })).text();
  } finally {
    server.close();
  }
}

describe('the address of a client', () => {
  it('is that of the connection if no proxy is trusted, whatever X-Forwarded-For says', async () => {
    expect(await addressOf(0, '203.0.113.7')).toBe('127.0.0.1');
    expect(await addressOf(0)).toBe('127.0.0.1');
  });

  it('is the one that the outermost trusted proxy saw, not one that the client claims', async () => {
    expect(await addressOf(1, '203.0.113.7')).toBe('203.0.113.7');
    expect(await addressOf(1, '198.51.100.1, 203.0.113.7')).toBe('203.0.113.7');
    expect(await addressOf(2, '198.51.100.1, 203.0.113.7, 10.0.0.1')).toBe('203.0.113.7');
  });

  it('is that of the connection if X-Forwarded-For is missing, and unknown if it is invalid', async () => {
    expect(await addressOf(1)).toBe('127.0.0.1');
    expect(await addressOf(1, 'unknown')).toBe('unknown');
    expect(await addressOf(1, "'; drop table rate_limits; --")).toBe('unknown');
    expect(await addressOf(1, '203.0.113.7:4711:1')).toBe('unknown');
  });

  it('is read with a port', async () => {
    expect(await addressOf(1, '203.0.113.7:4711')).toBe('203.0.113.7');
    expect(await addressOf(1, '[2001:db8:1:2::1]:4711')).toBe(await addressOf(1, '2001:db8:1:2::1'));
    expect(await addressOf(1, '[2001:db8:1:2::1]')).toBe(await addressOf(1, '2001:db8:1:2::1'));
  });

  it('is the same for all addresses of an IPv6 network, and for an IPv4 address in IPv6 notation', async () => {
    const first = await addressOf(1, '2001:db8:1:2::1');
    expect(await addressOf(1, '2001:db8:1:2:ffff:ffff:ffff:ffff')).toBe(first);
    expect(await addressOf(1, '2001:db8:1:3::1')).not.toBe(first);
    expect(await addressOf(1, '::ffff:203.0.113.7')).toBe('203.0.113.7');
  });
});
