import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inboundExceeded, type InboundUsage, quotaExceeded } from './storage-quota.ts';

const MB = 1024 ** 2;
const QUOTA = { total: 10 * MB, daily: MB };
const NOTHING: InboundUsage = { total: 0, today: 0, ofContactToday: 0 };

test('the first file of a contact on a day fits, whatever its budget', () => {
  expect(inboundExceeded({ ...NOTHING, today: MB / 2 }, QUOTA, MB / 2)).toBe(null);
  expect(inboundExceeded(NOTHING, QUOTA, 5 * MB)).toBe(null);
});

const file = fc.record({ contact: fc.nat({ max: 4 }), size: fc.integer({ min: 1, max: 2 * MB }) });
test('whatever contacts send in a day, each and all keep to their budgets, and an upload fits', () => {
  fc.assert(
    fc.property(fc.array(file, { maxLength: 100 }), (files) => {
      const used = { total: 0, today: 0, contacts: [0, 0, 0, 0, 0] };
      for (const { contact, size } of files) {
        const ofContactToday = used.contacts[contact] ?? 0;
        if (inboundExceeded({ ...used, ofContactToday }, QUOTA, size) !== null) continue;
        // Only the first one may exceed a budget.
        if (used.today > 0) expect(used.today + size).toBeLessThanOrEqual(QUOTA.daily);
        if (ofContactToday > 0) expect(ofContactToday + size).toBeLessThanOrEqual(QUOTA.daily / 4);
        used.total += size;
        used.today += size;
        used.contacts[contact] = ofContactToday + size;
      }
      expect(quotaExceeded({ total: used.total, today: 0 }, QUOTA, MB)).toBe(null);
    }),
  );
});
