import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { type OpenMedia, openWithin, resumedMedia } from './resumed-media.ts';

const FILE = Buffer.from('0123456789abcdefghij');
const limits = { idleMs: 1000, canceled: new AbortController().signal };

/** A server that breaks off after so many bytes of each response. */
function server(perResponse: number, ranges: boolean) {
  const asked: number[] = [];
  const open: OpenMedia = async (from) => {
    asked.push(from);
    const start = ranges ? from : 0;
    const sent = FILE.subarray(start, start + perResponse + (ranges ? 0 : from));
    async function* body() {
      yield sent.subarray(0, 2);
      yield sent.subarray(2);
      if (start + sent.length < FILE.length) throw new Error('terminated');
    }
    return { contentType: null, body: Readable.from(body()), ...(ranges && { from: start }) };
  };
  return { open, asked };
}

async function read(open: OpenMedia): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of resumedMedia(open, await openWithin(open, 0, limits), limits)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test.each([true, false])('a file continues where its connection broke: with ranges %s', async (ranges) => {
  const { open, asked } = server(7, ranges);
  expect(await read(open)).toBe(FILE.toString());
  expect(asked).toEqual([0, 7, 14]);
});

test('a file of which nothing more arrives is given up', async () => {
  const { open, asked } = server(7, true);
  const stuck: OpenMedia = async (from, signal) => {
    if (from < 7) return open(from, signal);
    asked.push(from);
    return {
      contentType: null,
      from,
      body: new Readable({
        read() {
          this.destroy(new Error('gone'));
        },
      }),
    };
  };
  await expect(read(stuck)).rejects.toThrow('gone');
  expect(asked).toEqual([0, 7]);
});

test('a server that sends nothing is not waited for', async () => {
  const silent = { contentType: null, body: new Readable({ read() {} }) };
  const reading = resumedMedia(async () => silent, silent, { ...limits, idleMs: 20 });
  await expect(reading.next()).rejects.toThrow('no data for 20 ms');
});
