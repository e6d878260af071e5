import { connect } from 'node:net';
import Koa from 'koa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBody } from './body.ts';
import { listen, type Listening } from './listen.ts';

let server: Listening;

beforeAll(async () => {
  const app = new Koa();
  // The connection that is closed under the body is what these tests are about.
  app.silent = true;
  app.use(async (context) => {
    context.body = { body: await readBody(context) };
  });
  const patience = { headersMs: 100, requestMs: 200, checkEveryMs: 20 };
  server = await listen(app, { host: '127.0.0.1', port: 0 }, patience);
});
afterAll(() => server.close());

/** Sends the beginning of a request and nothing more; all that comes back until the connection ends. */
function stall(beginning: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1');
    let received = '';
    socket.on('data', (data) => (received += data.toString()));
    socket.once('close', () => resolve(received));
    socket.once('error', reject);
    socket.write(beginning);
  });
}

describe('a client that stalls', () => {
  it.each([
    ['in its headers', 'POST / HTTP/1.1\r\nHost: x\r\nX-Slow: '],
    [
      'before its body',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n',
    ],
    [
      'in its body',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"a"',
    ],
  ])('%s is disconnected', async (_, beginning) => {
    expect(await stall(beginning)).toMatch(/^HTTP\/1\.1 (408|400) /);
  });

  it('does not keep others from being answered', async () => {
    const stalled = stall('POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ');
    const answer = await fetch(`http://127.0.0.1:${server.port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    });
    expect(await answer.json()).toEqual({ body: { a: 1 } });
    await stalled;
  });
});
