import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Condition } from './condition.ts';
import { type Facts, holdAll, judge, judgeAll, judgeAny } from './judge.ts';

const now = new Date('2026-03-10T12:00:00Z');
const ago = (days: number): Date => new Date(now.getTime() - days * 86_400_000);

const facts = (changed: Partial<Facts> & { fields?: Partial<Facts['lead']> } = {}): Facts => {
  const { fields = {}, ...others } = changed;
  return {
    lead: {
      firstName: 'Ada',
      lastName: '',
      emails: ['ada@example.com', 'ada@work.example'],
      phones: ['+14155550123'],
      companyName: 'Analytical Engines',
      jobTitle: '',
      notes: '',
      contactOwnerEmail: null,
      timezone: null,
      customFields: { plan: 'Pro', seats: '12', renewal: '2026-03-20' },
      tags: ['VIP'],
      status: 'available',
      source: 'api',
      createdAt: ago(30),
      ...fields,
    },
    replies: [],
    lastMessage: null,
    contactedAt: { this: null, any: null },
    consented: new Set(),
    ...others,
  };
};
const sent = (days: number) => ({
  at: ago(days),
  isDelivered: true,
  isRead: false,
  isClicked: false,
  isFailed: false,
});
const holds = (condition: object, changed: Parameters<typeof facts>[0] = {}): boolean =>
  judge(Condition.parse(condition), facts(changed), now).holds;

describe('a condition', () => {
  it.each(['NFC', 'NFD'] as const)(
    'asks about a field and a value whose accents are in the form %s',
    (form) => {
      const condition = { field: 'customFields.Größe'.normalize(form), value: 'Länge'.normalize(form) };
      for (const stored of ['NFC', 'NFD'] as const) {
        const customFields = { ['Größe'.normalize(stored)]: 'Länge'.normalize(stored) };
        expect(holds(condition, { fields: { customFields } })).toBe(true);
      }
    },
  );

  it.each<[object, boolean]>([
    [{ field: 'customFields.plan', op: 'eq', value: 'pro' }, true],
    [{ field: 'customFields.plan', value: 'pro' }, true],
    [{ field: 'customFields.plan', op: 'neq', value: 'free' }, true],
    [{ field: 'customFields.plan', op: 'eq', value: ['free', 'pro'] }, true],
    [{ field: 'customFields.other', op: 'neq', value: 'free' }, true],
    [{ field: 'customFields.other', op: 'not_contains', value: 'free' }, true],
    [{ field: 'customFields.other', op: 'not_exists' }, true],
    [{ field: 'customFields.__proto__', op: 'exists' }, false],
    [{ field: 'lastName', op: 'exists' }, false],
    [{ field: 'lastName', op: 'eq', value: '' }, true],
    [{ field: 'companyName', op: 'contains', value: 'engine' }, true],
    [{ field: 'companyName', op: 'starts_with', value: 'Anal' }, true],
    [{ field: 'email', op: 'contains', value: '@work.' }, true],
    [{ field: 'email', op: 'neq', value: 'ada@work.example' }, false],
    [{ field: 'customFields.seats', op: 'gte', value: 12 }, true],
    [{ field: 'customFields.seats', op: 'gt', value: '9' }, true],
    [{ field: 'customFields.seats', op: 'lt', value: 12 }, false],
    [{ field: 'customFields.plan', op: 'lt', value: 12 }, false],
    [{ field: 'customFields.seats', op: 'eq', value: 12 }, true],
    [{ field: 'customFields.renewal', op: 'gt_date', value: '2026-03-19' }, true],
    [{ field: 'customFields.renewal', op: 'lt_date', value: { days: 11 } }, true],
    [{ field: 'customFields.renewal', op: 'lt_date', value: { days: 9 } }, false],
    [{ field: 'customFields.plan', op: 'lt_date', value: '2026-03-19' }, false],
    [{ field: 'createdAt', op: 'lt_date', value: { days: -29 } }, true],
    [{ field: 'tag', op: 'eq', value: 'vip' }, true],
    [{ field: 'tag', op: 'neq', value: 'vip' }, false],
    [{ field: 'tag', op: 'eq', value: ['new', 'vip'] }, true],
    [{ field: 'tag', op: 'not_exists' }, false],
    [{ field: 'channel_available' }, true],
    [{ field: 'channel_available', value: 'sms' }, true],
    [{ field: 'replied' }, false],
    [{ field: 'replied', op: 'eq', value: false }, true],
    [{ field: 'no_reply_for', value: 3 }, false],
    [{ field: 'read' }, false],
    [{ field: 'read', op: 'neq', value: true }, true],
    [{ field: 'clicked' }, false],
    [{ field: 'clicked', op: 'not_exists' }, true],
    [{ field: 'has_consent' }, false],
    [{ field: 'contacted_within_days', op: 'neq', value: 7 }, true],
  ])('%j holds: %s', (condition, is) => {
    expect(holds(condition)).toBe(is);
  });

  it('finds whole words in replies', () => {
    const replies = [{ at: now, text: 'I know. YES, please!' }];
    expect(holds({ field: 'replied', op: 'contains', value: 'yes' }, { replies })).toBe(true);
    expect(holds({ field: 'replied', value: ['no', 'stop'] }, { replies })).toBe(false);
    expect(holds({ field: 'replied', op: 'not_contains', value: 'no' }, { replies })).toBe(true);
    expect(holds({ field: 'replied', value: ['a|b', 'yes, please'] }, { replies })).toBe(true);
    expect(holds({ field: 'replied', value: '.*' }, { replies })).toBe(false);
    // As phones write it, and as keyboards do.
    const [curly, straight] = ['Let’s go', "Let's go"];
    for (const [text, value] of [
      [curly, straight],
      [straight, curly],
      ['Größe?'.normalize('NFD'), 'größe'],
    ] as const)
      expect(holds({ field: 'replied', value }, { replies: [{ at: ago(1), text }] })).toBe(true);
    expect(holds({ field: 'lastName', value: "o'brien" }, { fields: { lastName: 'O’Brien' } })).toBe(true);
  });

  it('finds them at the beginning of long replies only', () => {
    const yes = { field: 'replied', op: 'contains', value: 'yes' };
    expect(holds(yes, { replies: [{ at: now, text: `${' '.repeat(1990)}yes` }] })).toBe(true);
    expect(holds(yes, { replies: [{ at: now, text: `${' '.repeat(100_000)}yes` }] })).toBe(false);
  });

  it('counts silence from the last message', () => {
    const silent = { field: 'no_reply_for', value: { days: 3 } };
    const replies = [{ at: ago(5), text: 'Hi' }];
    expect(holds(silent, { lastMessage: sent(4), replies })).toBe(true);
    expect(holds(silent, { lastMessage: sent(6), replies })).toBe(false);
    expect(judge(Condition.parse(silent), facts({ lastMessage: sent(2) }), now)).toMatchObject({
      holds: false,
      mayChangeAt: new Date('2026-03-11T12:00:00Z'),
    });
  });

  it('tells campaigns apart', () => {
    const contactedAt = { this: ago(9), any: ago(1) };
    expect(holds({ field: 'contacted_within_days', value: 7 }, { contactedAt })).toBe(true);
    expect(holds({ field: 'contacted_within_days', value: 7, campaign: 'this' }, { contactedAt })).toBe(
      false,
    );
  });

  it.each<[object, string]>([
    [{ field: 'shoeSize', op: 'eq', value: 1 }, 'field'],
    [{ field: 'clicked', value: 'https://example.com' }, 'value'],
    [{ field: 'firstName', op: 'any' }, 'op'],
    [{ field: 'firstName' }, 'value'],
    [{ field: 'firstName', op: 'exists', value: 'x' }, 'value'],
    [{ field: 'createdAt', op: 'gt_date', value: 'yesterday' }, 'value'],
    [{ field: 'createdAt', op: 'gt_date', value: '2026-02-31T99:00' }, 'value'],
    [{ field: 'customFields.seats', op: 'gt', value: 'many' }, 'value'],
    [{ field: 'no_reply_for' }, 'value'],
    [{ field: 'no_reply_for', value: { days: -1 } }, 'value'],
    [{ field: 'no_reply_for', op: 'eq', value: 1 }, 'op'],
    [{ field: 'contacted_within_days', value: 'x' }, 'value'],
    [{ field: 'channel_available', value: 'fax' }, 'value'],
    [{ field: 'tag' }, 'value'],
    [{ field: 'read', campaign: 'this' }, 'campaign'],
    [{ field: 'replied', op: 'contains' }, 'value'],
  ])('is refused: %j, at its %s', (condition, at) => {
    expect(Condition.safeParse(condition).error?.issues.map(({ path }) => path)).toEqual([[at]]);
  });
});

describe('conditions', () => {
  const anyCondition = fc.oneof(
    fc
      .constantFrom('replied', 'read', 'clicked', 'delivered', 'failed', 'has_consent', 'channel_available')
      .map((field) => ({ field })),
    fc.record({ field: fc.constant('no_reply_for'), value: fc.integer({ min: 1, max: 20 }) }),
    fc.record({
      field: fc.constant('contacted_within_days'),
      op: fc.constantFrom('eq' as const, 'neq' as const),
      value: fc.integer({ min: 1, max: 20 }),
    }),
    fc.record({
      field: fc.constantFrom('createdAt', 'customFields.renewal'),
      op: fc.constantFrom('gt_date' as const, 'lt_date' as const),
      value: fc.record({ days: fc.integer({ min: -40, max: 40 }) }),
    }),
    fc.record({
      field: fc.constantFrom('customFields.plan', 'firstName', 'tag'),
      op: fc.constantFrom('eq' as const, 'neq' as const, 'contains' as const, 'not_contains' as const),
      value: fc.constantFrom('pro', 'vip', 'Ada', 'x'),
    }),
  );
  const anyFacts = fc
    .record({
      replied: fc.option(fc.integer({ min: 0, max: 20 })),
      lastSent: fc.option(fc.integer({ min: 0, max: 20 })),
      contacted: fc.option(fc.integer({ min: 0, max: 20 })),
    })
    .map(({ replied, lastSent, contacted }) =>
      facts({
        replies: replied === null ? [] : [{ at: ago(replied), text: 'Yes' }],
        lastMessage: lastSent === null ? null : sent(lastSent),
        contactedAt: { this: null, any: contacted === null ? null : ago(contacted) },
      }),
    );
  const parsed = fc
    .array(anyCondition, { minLength: 1, maxLength: 4 })
    .map((all) => all.map((one) => Condition.parse(one)));

  it('change by time alone only when they say so', () => {
    fc.assert(
      fc.property(
        parsed,
        anyFacts,
        fc.double({ min: 0, max: 60, noNaN: true }),
        (conditions, known, days) => {
          const later = new Date(now.getTime() + days * 86_400_000);
          for (const together of [judgeAll, judgeAny]) {
            const before = together(conditions, known, now);
            if (before.mayChangeAt !== null)
              expect(before.mayChangeAt.getTime()).toBeGreaterThan(now.getTime());
            if (before.mayChangeAt === null || later < before.mayChangeAt)
              expect(together(conditions, known, later).holds).toBe(before.holds);
          }
        },
      ),
    );
  });

  it('that hold all, hold each, and any holds unless none does', () => {
    fc.assert(
      fc.property(parsed, anyFacts, (conditions, known) => {
        const each = conditions.map((one) => judge(one, known, now).holds);
        expect(judgeAll(conditions, known, now).holds).toBe(each.every(Boolean));
        expect(holdAll(conditions, known, now)).toBe(each.every(Boolean));
        expect(judgeAny(conditions, known, now).holds).toBe(each.some(Boolean));
      }),
    );
  });
});
