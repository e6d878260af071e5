import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import Koa from 'koa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBody } from './body.ts';
import type { ApiError } from './errors.ts';

/** The codes of the errors, in the order in which they were thrown. */
const refused: string[] = [];
const app = new Koa();
app.use(async (context) => {
  try {
    if (context.get('x-read') === 'late') await new Promise((resolve) => context.req.once('close', resolve));
    context.body = { body: await readBody(context) };
  } catch (error) {
    const { code, status } = error as ApiError;
    refused.push(code);
    context.status = status;
    context.body = { code };
  }
});
const server = createServer(app.callback());
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

const port = (): number => (server.address() as AddressInfo).port;
const json = (encoding: string) => ({ 'content-type': 'application/json', 'content-encoding': encoding });

async function send(body: string | Uint8Array<ArrayBuffer>, encoding = 'identity'): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port()}`, {
    method: 'POST',
    headers: json(encoding),
    body,
  });
  return response.json();
}

test('reads a body that is compressed, sent in chunks, or neither', async () => {
  const text = JSON.stringify({ text: 'é'.repeat(10_000) });
  const whole = { body: JSON.parse(text) as unknown };
  expect(await send(text)).toEqual(whole);
  expect(await send(new Uint8Array(gzipSync(text)), 'gzip')).toEqual(whole);
  const chunks = new ReadableStream({
    start(controller) {
      const bytes = new TextEncoder().encode(text);
      // Within a character.
      for (const part of [bytes.slice(0, 1001), bytes.slice(1001)]) controller.enqueue(part);
      controller.close();
    },
  });
  const response = await fetch(`http://127.0.0.1:${port()}`, {
    method: 'POST',
    headers: json('identity'),
    body: chunks,
    duplex: 'half',
  });
  expect(await response.json()).toEqual(whole);
});

test.each(['identity', 'gzip'])('answers a client whose body is too large (%s)', async (encoding) => {
  const text = JSON.stringify('a'.repeat(5_000_000));
  const body = encoding === 'gzip' ? new Uint8Array(gzipSync(text)) : text;
  expect(await send(body, encoding)).toEqual({ code: 'BODY_TOO_LARGE' });
});

test('refuses a compressed body that ends early', async () => {
  const text = JSON.stringify('a'.repeat(1000));
  expect(await send(new Uint8Array(gzipSync(text).subarray(0, -10)), 'gzip')).toEqual({
    code: 'INVALID_JSON',
  });
});

test.each([
  ['identity', 'at once'],
  ['gzip', 'at once'],
  ['identity', 'late'],
  ['gzip', 'late'],
])('gives up a body whose client has gone (%s, read %s)', async (encoding, read) => {
  refused.length = 0;
  const client = connect(port(), '127.0.0.1');
  client.write(
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: ${encoding}\r\nX-Read: ${read}\r\nContent-Length: 100\r\n\r\n`,
  );
  client.write(gzipSync('{"a":1}').subarray(0, 15));
  await once(server, 'request');
  client.destroy();
  await expect.poll(() => refused).toEqual(['INVALID_JSON']);
});
