import { Agent, type IncomingMessage, request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createWorkspace } from '#test/support/factories.ts';

let app: TestApp;
let key: string;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp({ worker: false });
  ({ key } = await createWorkspace(app));
  api = apiClient(app.url, key);
});

/** @returns the status of a request that `fetch` would refuse to send. */
function statusOf(path: string, headers: Record<string, string | string[]>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(app.url, { path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once('error', reject);
    sent.end();
  });
}

describe('a hostile request', () => {
  it.each([
    ['the same parameter twice', '/api/leads?limit=1&limit=2', 400],
    ['the same text parameter twice', '/api/leads?search=a&search=b', 400],
    ['a parameter named like a property of objects', '/api/leads?__proto__=1&constructor=2&toString=3', 200],
    ['a parameter with brackets', '/api/leads?limit[]=1&search[a]=b', 200],
    ['an infinite number', '/api/leads?limit=1e999', 400],
    ['a number with an exponent', '/api/leads?limit=1e1', 400],
    ['a hexadecimal number', '/api/conversations?limit=0x10', 400],
    ['a number with a blank', '/api/leads?limit=%2010', 400],
    ['a number of calls with an exponent', '/api/voice/recordings?number=%2B14155550100&limit=1e1', 400],
    ['a number with leading zeros', '/api/leads?limit=010', 200],
    ['a number that is too large', '/api/leads?limit=99999999999999999999', 400],
    ['a malformed escape', '/api/leads?search=%E0%A4%A', 200],
    ['a malformed escape in the path', '/api/leads/%E0%A4%A', 404],
    ['a cursor with a NUL', `/api/conversations?cursor=${cursor(0, 'a\0b')}`, 400],
    ['a cursor before all time', `/api/conversations?cursor=${cursor(-8.64e15, 'a')}`, 400],
    ['a cursor after all time', `/api/conversations?cursor=${cursor(8.64e15 + 1, 'a')}`, 400],
    ['a thousand parameters', `/api/leads?${'a=1&'.repeat(1000)}`, 200],
  ])('with %s (%s) gets a %i', async (_, path, status) => {
    expect((await api('GET', path)).status).toBe(status);
  });

  it.each([
    ['an object prototype', '{"__proto__": {"admin": true}, "name": "x"}'],
    ['a constructor', '{"constructor": {"prototype": {"admin": true}}, "name": "x"}'],
    ['ten thousand nested objects', `{"name": ${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`],
    ['ten thousand nested lists', `{"name": ${'['.repeat(10_000)}1${']'.repeat(10_000)}}`],
    ['an infinite number', '{"name": 1e999}'],
    ['the same field twice', '{"name": 1, "name": {}}'],
    ['a byte order mark', '\uFEFF{'],
  ])('whose body contains %s gets a usual response', async (_, body) => {
    const { status } = await api('POST', '/api/lists', body);
    expect([200, 201, 400]).toContain(status);
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
  });

  it.each(['/api/lists', '/api/messages', '/api/drip', '/api/console/session'])(
    'to %s whose body is not UTF-8 is refused, not stored with other characters',
    async (path) => {
      const response = await fetch(app.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: Buffer.from('{"name": "Müller", "message": "Müller", "code": "Müller"}', 'latin1'),
      });
      expect([response.status, await response.json()]).toEqual([
        400,
        expect.objectContaining({ code: 'INVALID_JSON' }),
      ]);
    },
  );

  it.each(['http://[', 'http://a:b:c/'])('whose target is no URL gets a 404: %s', async (target) => {
    expect(await statusOf(target, { authorization: `Bearer ${key}` })).toBe(404);
  });

  it('with oversized headers is refused before anything is read', async () => {
    const authorization = `Bearer ${key}`;
    expect(await statusOf('/api/lists', { authorization, 'x-large': 'a'.repeat(20_000) })).toBe(431);
    const many = Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`x-${index}`, 'a']));
    expect([200, 431]).toContain(await statusOf('/api/lists', { authorization, ...many }));
    expect(await statusOf('/api/lists', { authorization: `Bearer ${'a'.repeat(15_000)}` })).toBe(401);
    expect(await statusOf(`/api/leads?search=${'a'.repeat(14_000)}`, { authorization })).toBe(400);
    expect((await api('GET', '/api/lists')).status).toBe(200);
  });
});

describe('a request that is refused while its body is sent', () => {
  it.each([
    ['with a wrong key', '/api/attachments/upload', 'multipart/form-data; boundary=x', 401],
    ['to no endpoint', '/api/nothing', 'multipart/form-data; boundary=x', 404],
    ['with too much JSON', '/api/lists', 'application/json', 413],
  ])('%s keeps its connection, so that the caller gets the response', async (_, path, type, status) => {
    const agent = new Agent({ keepAlive: true });
    const authorization = `Bearer ${status === 401 ? 'svc_sk_wrong' : key}`;
    const headers = { authorization, 'content-type': type, 'content-length': 2 * 1024 * 1024 };
    const refused = request(app.url + path, { method: 'POST', agent, headers });
    refused.write('{');
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      refused.once('response', resolve).once('error', reject),
    );
    expect([response.statusCode, response.headers.connection]).toEqual([status, 'keep-alive']);
    await new Promise<void>((resolve, reject) =>
      refused.once('error', reject).end(Buffer.alloc(2 * 1024 * 1024 - 1, ' '), resolve),
    );
    response.resume();
    agent.destroy();
  });
});

function cursor(at: number, id: string): string {
  return Buffer.from(JSON.stringify([at, id])).toString('base64url');
}
