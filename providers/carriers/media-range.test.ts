import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BlueBubblesConfig } from './bluebubbles/api.ts';
import { blueBubblesCarrier } from './bluebubbles/bluebubbles.ts';
import type { Carrier } from './carrier.ts';
import { linqCarrier } from './linq/linq.ts';
import { sendblueCarrier } from './sendblue.ts';
import { telnyxCarrier } from './telnyx.ts';
import { twilioCarrier } from './twilio/twilio.ts';

const FILE = '0123456789';

/** Serves parts of a file, and the whole at `/whole`. Twilio redirects to the store of the file. */
const server = createServer(({ url = '', headers }, response) => {
  if (url.startsWith('/moved')) return response.writeHead(307, { location: '/file' }).end();
  const start = url.includes('whole') ? 0 : Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
  const body = FILE.slice(start);
  const range = `bytes ${start}-${FILE.length - 1}/${FILE.length}`;
  return response
    .writeHead(start > 0 ? 206 : 200, {
      'content-type': 'image/png',
      'content-length': body.length,
      ...(start > 0 && { 'content-range': range }),
    })
    .end(body);
});
let origin = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const CARRIERS: [name: string, carrier: Carrier, path: string, whole: string][] = [
  ['linq', linqCarrier(), '/file', '/whole'],
  ['sendblue', sendblueCarrier(), '/file', '/whole'],
  ['telnyx', telnyxCarrier(), '/file', '/whole'],
  ['twilio', twilioCarrier(), '/moved', '/whole'],
  ['bluebubbles', blueBubblesCarrier(), '/attachment/A1/download', '/attachment/whole/download'],
];

test.each(CARRIERS)('a file at %s goes on where it stopped', async (_name, carrier, path, whole) => {
  const settings = { baseUrl: origin, accountSid: 'AC1', authToken: 'token' };
  const mac = BlueBubblesConfig.parse({ url: origin, password: 'p', callbackSecret: 'a-secret-of-the-line' });
  const open = (at: string, from: number) =>
    carrier.openMedia({ ...mac, ...settings }, origin + at, new AbortController().signal, from);
  const first = await open(path, 0);
  expect([first.size, first.from, await text(first.body)]).toEqual([10, undefined, FILE]);
  const rest = await open(path, 4);
  expect([rest.size, rest.from, await text(rest.body)]).toEqual([undefined, 4, '456789']);
  const again = await open(whole, 4);
  expect([again.from, await text(again.body)]).toEqual([undefined, FILE]);
  await carrier.close();
});
