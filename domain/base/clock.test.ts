import { afterEach, expect, test } from 'vitest';
import { clockOffset, currentTime, setClock } from './clock.ts';

const HOUR = 3_600_000;

// Other files of this process go on with the time of this machine.
afterEach(() => setClock(new Date(), performance.now(), 0));

/** Whether exactly the time has passed since a reading, to a millisecond, of which a date counts whole ones. */
function hasCountedFrom(at: Date, readAt: number): boolean {
  const before = performance.now();
  const counted = currentTime().getTime() - at.getTime();
  return counted >= before - readAt - 2 && counted <= performance.now() - readAt + 1;
}

test('counts on from the time that it was set to, whatever the clock of the machine says', () => {
  const [at, readAt] = [new Date(Date.now() - HOUR), performance.now()];
  setClock(at, readAt, 0);
  expect(hasCountedFrom(at, readAt)).toBe(true);
  expect(Math.round(clockOffset() / 60)).toBe(60);
});

test('is corrected by a reading that is precise enough, and does not jump by one that is not', () => {
  const [at, readAt] = [new Date(2 * HOUR), performance.now()];
  setClock(at, readAt, 0);
  const earlier = new Date(HOUR);
  setClock(earlier, readAt, HOUR + 1);
  expect(hasCountedFrom(at, readAt)).toBe(true);
  setClock(earlier, readAt, HOUR - 1);
  expect(hasCountedFrom(earlier, readAt)).toBe(true);
});
