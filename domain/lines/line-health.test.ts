import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterProbe,
  areProbesDue,
  isReportingDue,
  PROBES_A_MINUTE,
  PROBES_TO_DOWN,
  probePeriods,
} from './line-health.ts';

describe('the health of a line', () => {
  it('is down after three failed probes in a row, and healthy after one that passes', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 20 }), (probes) => {
        let line: Parameters<typeof afterProbe>[0] = { status: 'healthy', failedProbes: 0 };
        for (const passed of probes) line = afterProbe(line, passed);
        const failed = probes.length - 1 - probes.lastIndexOf(true);
        expect(line.status).toBe(failed === 0 ? 'healthy' : failed >= PROBES_TO_DOWN ? 'down' : 'degraded');
      }),
    );
  });
});

describe('the probes of a carrier', () => {
  it('are each minute for up to 5,000 lines, and at least every five minutes for any number', () => {
    expect(
      [1, PROBES_A_MINUTE, PROBES_A_MINUTE + 1, 100_000].map((lines) => probePeriods(lines).healthy),
    ).toEqual([55, 55, 115, 295]);
    fc.assert(
      fc.property(fc.nat(1_000_000), (lines) => {
        const { healthy, unhealthy } = probePeriods(lines);
        expect(healthy).toBeLessThanOrEqual(300);
        expect(healthy).toBeLessThanOrEqual(probePeriods(lines + 1).healthy);
        expect(unhealthy).toBe(55);
      }),
    );
  });

  it('are due when a healthy line has waited for its period, or one with something wrong for a minute', () => {
    const due = (healthy: number | null, unhealthy: number | null) =>
      areProbesDue({ lines: 100_000, healthy, unhealthy });
    expect([due(200, null), due(296, null), due(200, 50), due(200, 56), due(null, null)]).toEqual([
      false,
      true,
      false,
      true,
      false,
    ]);
  });
});

describe('the question whether replies are reported', () => {
  const at = new Date('2026-06-10T12:00:00Z');
  const later = (minutes: number): Date => new Date(at.getTime() + minutes * 60_000);

  it('is asked with one probe of each hour, of each line at another minute', () => {
    const minuteOf = (id: string): number[] =>
      Array.from({ length: 120 }, (_, minute) => minute).filter((minute) =>
        isReportingDue({ id, healthCheckedAt: later(minute - 1), inboxFailingSince: null }, later(minute)),
      );
    const ids = Array.from(
      { length: 50 },
      (_, index) => `6742f1c09b1e8a00d4${(index * 3_001_007).toString(16).padStart(6, '0').slice(-6)}`,
    );
    for (const id of ids) expect(minuteOf(id)).toHaveLength(2);
    expect(new Set(ids.map((id) => minuteOf(id)[0])).size).toBeGreaterThan(20);
  });

  it('is asked of new lines, and with each probe while they are not', () => {
    const line = { id: '6742f1c09b1e8a00d4c3b2a1', healthCheckedAt: at, inboxFailingSince: null };
    expect(isReportingDue({ ...line, healthCheckedAt: null }, at)).toBe(true);
    expect(isReportingDue(line, at)).toBe(false);
    expect(isReportingDue({ ...line, inboxFailingSince: at }, at)).toBe(true);
  });
});
