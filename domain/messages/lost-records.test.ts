import { expect, test } from 'vitest';
import { lostSendOf } from './lost-records.ts';

const lostFrom = new Date('2026-03-05T14:00:00Z');
const lostUntil = new Date('2026-03-05T14:20:00Z');
const at = (time: string) => ({ createdAt: new Date(time) });

test('a message may have been sent without a record if it was accepted before the loss, or may repeat a lost request', () => {
  const line = { lostFrom, lostUntil };
  const lost = { from: lostFrom, until: lostUntil };
  expect(lostSendOf(line, at('2026-02-01T00:00:00Z'))).toEqual(lost);
  expect(lostSendOf(line, at('2026-03-06T14:19:59Z'))).toEqual(lost);
  expect(lostSendOf(line, at('2026-03-06T14:20:00Z'))).toBeNull();
});

test('a line of which all is on record has no such messages', () => {
  expect(lostSendOf({ lostFrom: null, lostUntil: null }, at('2026-02-01T00:00:00Z'))).toBeNull();
});
