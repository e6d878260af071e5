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

test('takes no date whose order of day and month is unknown', () => {
  const at = (text: string) => rowConsent('form', text, new Date('2026-12-01T12:00:00Z'))?.at;
  expect(at('2026-02-03 10:00')).toEqual(new Date('2026-02-03T10:00:00Z'));
  expect(at('2026-02-03T10:00:00+02:00')).toEqual(new Date('2026-02-03T08:00:00Z'));
  for (const text of ['03/02/2026', '3.2.2026', 'Feb 3, 2026', '2026', '2026-02-30', 'soon'])
    expect(() => at(text)).toThrow('consentAt: must be a date as YYYY-MM-DD');
});
