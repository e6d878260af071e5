import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Channel, CHANNELS } from '../base/channel.ts';
import {
  entitlement,
  type Entitlement,
  grant,
  type OwnedLines,
  type LineOverrides,
  type Plan,
  PLANS,
} from './entitlement.ts';

const plan = fc.constantFrom(...PLANS);
const channel = fc.constantFrom(...CHANNELS);
const held: fc.Arbitrary<OwnedLines> = fc
  .tuple(fc.nat(6), fc.nat(6))
  .map(([included, paid]) => ({ included, total: included + paid }));
const terms = fc.record({ included: fc.nat(6), addOns: fc.boolean() }, { requiredKeys: [] });
const overrides: fc.Arbitrary<LineOverrides> = fc.record(
  { phone: terms, email: terms },
  { requiredKeys: [] },
);

/** From worst to best for the customer. */
const RANK: Record<Entitlement, number> = { forbidden: 0, add_on: 1, included: 2 };
const rank = (...args: Parameters<typeof entitlement>): number => RANK[entitlement(...args)];

/** What each plan grants to a workspace without lines that requests four, one after another. */
const TABLE: [Plan, Channel, Entitlement[]][] = [
  ['mini', 'imessage', ['forbidden', 'forbidden', 'forbidden', 'forbidden']],
  ['mini', 'sms', ['forbidden', 'forbidden', 'forbidden', 'forbidden']],
  ['mini', 'email', ['included', 'add_on', 'add_on', 'add_on']],
  ['starter', 'imessage', ['included', 'forbidden', 'forbidden', 'forbidden']],
  ['starter', 'sms', ['included', 'forbidden', 'forbidden', 'forbidden']],
  ['starter', 'email', ['add_on', 'add_on', 'add_on', 'add_on']],
  ['growth', 'imessage', ['included', 'included', 'add_on', 'add_on']],
  ['growth', 'sms', ['included', 'included', 'add_on', 'add_on']],
  ['growth', 'email', ['add_on', 'add_on', 'add_on', 'add_on']],
];

describe('the entitlement to a line', () => {
  it.each(TABLE)('of the plan %s for successive %s lines is %j', (aPlan, aChannel, expected) => {
    const lines: OwnedLines = { total: 0, included: 0 };
    const granted = expected.map(() => {
      const grantedNow = entitlement(aPlan, aChannel, lines);
      if (grantedNow !== 'forbidden') lines.total += 1;
      if (grantedNow === 'included') lines.included += 1;
      return grantedNow;
    });
    expect(granted).toEqual(expected);
  });

  it('is never reduced by an override', () => {
    fc.assert(
      fc.property(plan, channel, held, overrides, (aPlan, aChannel, lines, raised) => {
        expect(rank(aPlan, aChannel, lines, raised)).toBeGreaterThanOrEqual(rank(aPlan, aChannel, lines));
      }),
    );
  });

  it('never improves with one more line', () => {
    fc.assert(
      fc.property(plan, channel, held, overrides, fc.boolean(), (aPlan, aChannel, lines, raised, paid) => {
        const more = { total: lines.total + 1, included: lines.included + (paid ? 0 : 1) };
        expect(rank(aPlan, aChannel, more, raised)).toBeLessThanOrEqual(rank(aPlan, aChannel, lines, raised));
      }),
    );
  });

  it('includes a line again once an included one is released, whatever add-ons were bought', () => {
    fc.assert(
      fc.property(channel, fc.nat(5), (aChannel, paid) => {
        fc.pre(aChannel !== 'email');
        expect(entitlement('growth', aChannel, { included: 1, total: 1 + paid })).toBe('included');
      }),
    );
  });

  it('counts phone and email lines separately, so that an override of one does not affect the other', () => {
    fc.assert(
      fc.property(plan, held, terms, (aPlan, lines, raised) => {
        expect(entitlement(aPlan, 'email', lines, { phone: raised })).toBe(
          entitlement(aPlan, 'email', lines),
        );
        expect(entitlement(aPlan, 'sms', lines, { email: raised })).toBe(
          entitlement(aPlan, 'imessage', lines),
        );
      }),
    );
  });
});

describe('an add-on', () => {
  it('requires a payment in card billing only', () => {
    expect(grant('add_on', 'card')).toBe('payment');
    expect(grant('add_on', 'invoice')).toBe('invoiced');
    for (const entitled of ['included', 'add_on', 'forbidden'] as const)
      expect(grant(entitled, 'none')).toBe('included');
    for (const mode of ['card', 'invoice'] as const) {
      expect(grant('included', mode)).toBe('included');
      expect(grant('forbidden', mode)).toBeNull();
    }
  });
});
