import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buckets, closestDays, type Span, wholeDays, wholeHours } from './analytics.ts';

const ZONES = [
  'UTC',
  'America/New_York',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'America/Havana',
  'Pacific/Apia',
];
const zone = fc.constantFrom(...ZONES);
const at = fc.date({ min: new Date('2026-01-01'), max: new Date('2026-12-31'), noInvalidDate: true });
const bound = fc.option(at, { nil: undefined });
const isIn = ({ from, to }: Span, time: Date): boolean => !(from && time < from) && !(to && time > to);

describe('the days closest to a span', () => {
  it('are whole, and differ from it by the parts', () => {
    fc.assert(
      fc.property(zone, bound, bound, fc.array(at), (timezone, from, to, times) => {
        const span = { from, to };
        const cut = closestDays(span, timezone);
        if (cut === null) return;
        expect(wholeDays([cut.days], timezone)).not.toBeNull();
        const edges = [span, cut.days, ...cut.added, ...cut.removed].flatMap((part) => [part.from, part.to]);
        const around = edges.flatMap((edge) =>
          edge ? [-1, 0, 1].map((ms) => new Date(edge.getTime() + ms)) : [],
        );
        for (const time of [...around, ...times]) {
          const covering = (parts: readonly Span[]) => parts.filter((part) => isIn(part, time)).length;
          expect(covering([cut.days]) + covering(cut.added) - covering(cut.removed), time.toISOString()).toBe(
            isIn(span, time) ? 1 : 0,
          );
        }
      }),
    );
  });

  it('are half a day away at most', () => {
    const day = (text: string) => new Date(`2026-03-${text}Z`);
    expect(closestDays({ from: day('01T11:00'), to: day('09T12:59:59.999') }, 'UTC')).toEqual({
      days: { from: day('01T00:00'), to: day('09T23:59:59.999') },
      added: [],
      removed: [
        { from: day('01T00:00'), to: day('01T10:59:59.999') },
        { from: day('09T13:00'), to: day('09T23:59:59.999') },
      ],
    });
    expect(closestDays({ from: day('01T13:00') }, 'UTC')).toEqual({
      days: { from: day('02T00:00') },
      added: [{ from: day('01T13:00'), to: day('01T23:59:59.999') }],
      removed: [],
    });
    expect(closestDays({ from: day('01T13:00'), to: day('02T02:00') }, 'UTC')).toBeNull();
  });
});

describe('whole hours', () => {
  it('are those of any zone with the same hours', () => {
    const spans = (timezone: string) =>
      buckets('hour', timezone, {
        from: new Date('2026-04-04T12:00Z'),
        to: new Date('2026-04-05T12:00Z'),
      }).map(({ start, end }) => ({ from: start, to: new Date(end.getTime() - 1) }));
    for (const timezone of ZONES)
      expect(wholeHours(spans(timezone), timezone), timezone).toEqual(
        spans(timezone).map(({ from }) => from),
      );
    expect(wholeHours(spans('America/New_York'), 'UTC')).not.toBeNull();
    expect(wholeHours(spans('Asia/Kolkata'), 'UTC')).toBeNull();
    expect(wholeHours(spans('UTC').slice(1, 3), 'Asia/Kathmandu')).toBeNull();
    // The clocks go back by half an hour, from 02:00 to 01:30 on the 5th.
    expect(wholeHours(spans('Australia/Lord_Howe'), 'UTC')).toBeNull();
  });
});
