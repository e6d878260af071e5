import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readClock } from './clock.ts';

test('a reading does not count the wait for a new connection', async () => {
  const answers = [
    { afterMs: 200, at: new Date('2026-01-01T00:00:00Z') },
    { afterMs: 0, at: new Date('2026-01-01T00:00:01Z') },
  ];
  const oneFirst = async () => {
    const answer = answers.shift();
    await setTimeout(answer?.afterMs);
    return answer?.at;
  };
  const reading = await readClock({ oneFirst } as unknown as Parameters<typeof readClock>[0]);
  expect(reading.at).toEqual(new Date('2026-01-01T00:00:01Z'));
});
