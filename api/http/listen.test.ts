import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import Koa from 'koa';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { readBody } from './body.ts';
import { listen, type Listening } from './listen.ts';

let server: Listening;
/** More than the buffers of a connection hold. */
const SIZE = 50_000_000;
/** Told when a response ends, and whether it was sent as a whole. */
const ends: ((isWhole: boolean) => void)[] = [];

beforeAll(async () => {
  const app = new Koa();
  // These tests close connections while a body is read, which Koa would log.
  app.silent = true;
  app.use(async (context, next) => {
    if (context.path !== '/large') return next();
    context.res.once('close', () => ends.shift()?.(context.res.writableFinished));
    context.body = Buffer.alloc(SIZE);
  });
  app.use(async (context, next) => {
    if (context.path !== '/slow') return next();
    await pause(2500);
    context.body = 'done';
  });
  app.use(async (context) => {
    context.body = { body: await readBody(context) };
  });
  const timeouts = { headersMs: 100, requestMs: 200, idleMs: 1000, checkEveryMs: 20 };
  server = await listen(app, { host: '127.0.0.1', port: 0 }, timeouts);
});
afterAll(() => server.close());

test('a port that is in use is named with the variable that changes it', async () => {
  const app = { callback: () => () => {} };
  const taken = { host: '127.0.0.1', port: server.port };
  await expect(listen(app, taken)).rejects.toThrow(`The port ${server.port} is in use: PORT names another`);
  await expect(listen(app, { ...taken, variable: 'METRICS_PORT' })).rejects.toThrow(
    'METRICS_PORT names another',
  );
});

/** Sends the beginning of a request and nothing more. @returns what the server sent until the connection ended. */
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
  ])('is disconnected %s', async (_, beginning) => {
    expect(await stall(beginning)).toMatch(/^HTTP\/1\.1 (408|400) /);
  });

  it('does not block the requests of others', async () => {
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

test('a client waits for a slow response, however long nothing is sent', async () => {
  const response = await fetch(`http://127.0.0.1:${server.port}/slow`);
  expect(await response.text()).toBe('done');
});

describe('a large response', () => {
  const ask = () => {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    const { promise: isWhole, resolve } = Promise.withResolvers<boolean>();
    ends.push(resolve);
    return { socket, isWhole };
  };

  it('ends when the client does not read it', async () => {
    const { socket, isWhole } = ask();
    expect(await isWhole).toBe(false);
    socket.destroy();
  });

  it('goes on as long as the client reads, however slowly', async () => {
    const { socket, isWhole } = ask();
    let received = 0;
    socket.on('data', (data) => {
      received += data.length;
      // The first megabytes take longer than an idle client is waited for.
      if (received > SIZE / 5) return;
      socket.pause();
      setTimeout(() => socket.resume(), 10);
    });
    expect(await isWhole).toBe(true);
    socket.destroy();
  });
});
