import { expect, it, describe } from 'vitest';
import { cutSnapshot, formatSnapshot, parseSnapshot } from './snapshots.ts';

describe('a snapshot', () => {
  it('is written as it was read', () => {
    for (const text of ['10:20:10,14,15', '20:20:', '4294967300:4294967301:4294967300'])
      expect(formatSnapshot(parseSnapshot(text))).toBe(text);
  });

  it.each([
    ['10:20:10,14,15', 15n, '10:15:10,14'],
    ['10:20:10,14,15', 10n, '10:10:'],
    ['10:20:10,14,15', 16n, '10:16:10,14,15'],
    ['10:20:10,14,15', 20n, '10:20:10,14,15'],
    ['10:20:10,14,15', 30n, '10:20:10,14,15'],
    ['20:20:', 12n, '12:12:'],
  ])('%s cut before %d is %s', (text, before, cut) => {
    expect(formatSnapshot(cutSnapshot(parseSnapshot(text), before))).toBe(cut);
  });
});
