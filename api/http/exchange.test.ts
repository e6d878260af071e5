import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Koa from 'koa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientAddress, proxySettings } from './client-address.ts';
import { DirectExchange, type Exchange, withoutKoa } from './exchange.ts';

const PROXIES = 2;
/** Answers by whom it was reached, and for whom. */
const answer = async (exchange: Exchange): Promise<void> => {
  exchange.status = 200;
  const params: unknown = exchange['params'];
  exchange.body = { direct: exchange instanceof DirectExchange, client: clientAddress(exchange), params };
};
const app = new Koa(proxySettings(PROXIES));
app.use(answer);
const server = createServer(
  withoutKoa(app, [
    { method: 'POST', path: '/often', answer },
    { method: 'POST', path: '/of/{one}/often', answer },
  ]),
);
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

interface Sent {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

function send({ path = '/often', method = 'POST', headers = {}, body = '{}' }: Sent) {
  const { port } = server.address() as AddressInfo;
  return new Promise<{ direct: boolean; client: string; params?: unknown }>((resolve, reject) => {
    const sent = request({ port, path, method, headers: { 'content-type': 'application/json', ...headers } });
    sent.on('response', (response) => void text(response).then((json) => resolve(JSON.parse(json)), reject));
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('a request', () => {
  it.each<[string, Sent]>([
    ['small JSON', {}],
    ['JSON that names its encoding', { headers: { 'content-type': 'application/json; charset=utf-8' } }],
  ])('with %s is answered without Koa', async (_, sent) => {
    expect(await send(sent)).toMatchObject({ direct: true });
  });

  it('has the parameters of its path', async () => {
    expect(await send({ path: '/of/a-1/often' })).toMatchObject({ direct: true, params: { one: 'a-1' } });
  });

  it.each<[string, Sent]>([
    ['another path', { path: '/other' }],
    ['a longer path', { path: '/often/' }],
    ['no parameter', { path: '/of//often' }],
    ['an encoded parameter', { path: '/of/%61/often' }],
    ['a query', { path: '/often?a=1' }],
    ['another method', { method: 'PUT' }],
    ['no body', { body: '' }],
    ['a large body', { body: JSON.stringify('a'.repeat(5000)) }],
    ['a body in chunks', { headers: { 'transfer-encoding': 'chunked' } }],
    ['an encoded body', { headers: { 'content-encoding': 'identity' } }],
    ['another type', { headers: { 'content-type': 'text/plain' } }],
    ['another encoding', { headers: { 'content-type': 'application/json; charset=latin1' } }],
  ])('with %s is left to Koa', async (_, sent) => {
    expect(await send(sent)).toMatchObject({ direct: false });
  });

  it.each([
    undefined,
    '203.0.113.7',
    '203.0.113.7, 198.51.100.1',
    '192.0.2.1,203.0.113.7 , 198.51.100.1',
    'unknown, 198.51.100.1',
    ',,',
    ' ',
  ])('is from the same client either way (X-Forwarded-For: %s)', async (forwarded) => {
    const headers: Record<string, string> = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    const [direct, koa] = await Promise.all([send({ headers }), send({ headers, path: '/often?' })]);
    expect([direct.direct, koa.direct]).toEqual([true, false]);
    expect(direct.client).toBe(koa.client);
  });
});
