import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterProbe, areProbesDue, PROBES_A_MINUTE, PROBES_TO_DOWN, probePeriods } from './line-health.ts';

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
