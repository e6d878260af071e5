import { expect, test } from 'vitest';
import { rowConsent } from './consent.ts';

test('takes the day of the import as its time where that day begins later in UTC', () => {
  const inTheMorningInSydney = new Date('2026-11-30T20:00:00Z');
  const at = (text: string) => rowConsent('form', text, inTheMorningInSydney)?.at;
  expect(at('2026-12-01')).toBeNull();
  expect(at('2026-11-30')).toEqual(new Date('2026-11-30'));
  for (const future of ['2026-12-02', '2026-12-01T00:00:00Z'])
    expect(() => at(future)).toThrow('must be a past date');
});
