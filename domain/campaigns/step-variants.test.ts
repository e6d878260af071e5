import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textsOf, variantFor } from './step-variants.ts';
import { VARIANT_NAMES } from '../messages/variant-name.ts';

const weights = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 2, maxLength: 4 });
const step = (given: readonly number[]) => ({
  variants: given.map((weight, index) => ({ body: `Text ${index}`, weight })),
});
const LEADS = Array.from({ length: 2000 }, (_, number) => `65f0${number.toString(16).padStart(20, '0')}`);

describe('the variant that a lead gets', () => {
  it('is one of the step, and always the same', () => {
    fc.assert(
      fc.property(weights, fc.nat(49), fc.constantFrom(...LEADS), (given, stepIndex, leadId) => {
        const about = { campaignId: 'campaign', stepIndex, leadId };
        const variant = variantFor(step(given), about);
        expect(VARIANT_NAMES.slice(0, given.length)).toContain(variant);
        expect(variantFor(step(given), { ...about })).toBe(variant);
      }),
    );
  });

  it('has the share of its weight, within five standard deviations', () => {
    fc.assert(
      fc.property(
        weights,
        fc.nat().map((number) => `campaign ${number}`),
        (given, campaignId) => {
          const total = given.reduce((sum, weight) => sum + weight, 0);
          const got = LEADS.map((leadId) => variantFor(step(given), { campaignId, stepIndex: 0, leadId }));
          for (const [index, weight] of given.entries()) {
            const count = got.filter((variant) => variant === VARIANT_NAMES[index]).length;
            const share = weight / total;
            const deviation = Math.sqrt(LEADS.length * share * (1 - share));
            expect(Math.abs(count - LEADS.length * share)).toBeLessThanOrEqual(5 * deviation + 1);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it('of one step says nothing about that of the next', () => {
    const even = step([1, 1]);
    const same = LEADS.filter(
      (leadId) =>
        variantFor(even, { campaignId: 'c', stepIndex: 0, leadId }) ===
        variantFor(even, { campaignId: 'c', stepIndex: 1, leadId }),
    ).length;
    expect(Math.abs(same - LEADS.length / 2)).toBeLessThan(5 * Math.sqrt(LEADS.length / 4));
  });

  it('stays the same from version to version', () => {
    const about = (leadId: string) => ({ campaignId: '65f0c0ffee0000000000beef', stepIndex: 1, leadId });
    const leads = ['65f000000000000000000001', '65f000000000000000000002', '65f000000000000000000003'];
    expect(leads.map((id) => variantFor(step([1, 1, 1, 1]), about(id)))).toEqual(['C', 'B', 'B']);
  });

  it('is none in a step without variants', () => {
    expect(variantFor({}, { campaignId: 'c', stepIndex: 0, leadId: 'l' })).toBeNull();
  });
});

describe('the texts of a step', () => {
  it('are its message, or those of its variants, with the subject of the step where they have none', () => {
    expect(textsOf({ message: 'Hi', subject: 'News' })).toMatchObject([
      { variant: null, body: 'Hi', subject: 'News' },
    ]);
    const variants = [
      { body: 'One', weight: 1 },
      { body: 'Two', subject: 'Old news', weight: 3 },
    ];
    expect(textsOf({ message: 'Hi', subject: 'News', variants })).toMatchObject([
      { variant: 'A', body: 'One', subject: 'News', weight: 1 },
      { variant: 'B', body: 'Two', subject: 'Old news', weight: 3 },
    ]);
  });
});
