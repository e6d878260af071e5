import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { problemOfEdit } from './step-edits.ts';
import { CampaignStep, placedSteps, stepsById } from './step.ts';

const steps = (...given: object[]): CampaignStep[] => given.map((step) => CampaignStep.parse(step));
const before = steps(
  { id: 'one', message: 'One' },
  {
    id: 'ask',
    kind: 'branch',
    branches: [
      { name: 'VIP', when: [{ field: 'tag', value: 'vip' }], steps: [{ id: 'vip', message: 'VIP' }] },
    ],
    else: [{ id: 'plain', message: 'Plain' }],
  },
  { id: 'wait', kind: 'wait', for: { days: 1 } },
  { id: 'two', variants: [{ body: 'A' }, { body: 'B' }] },
);
const [one, ask, wait, two] = before as [CampaignStep, CampaignStep, CampaignStep, CampaignStep];

describe('the steps of a campaign that runs', () => {
  it('can change their texts, delays and conditions, and get more at the end', () => {
    const after = steps(
      { id: 'one', message: 'One!' },
      {
        id: 'ask',
        kind: 'branch',
        branches: [
          { name: 'Gold', when: [{ field: 'tag', value: 'gold' }], steps: [{ id: 'vip', message: 'VIP!' }] },
        ],
        else: [{ id: 'plain', message: 'Plain', delay: { days: 2 } }],
      },
      { id: 'wait', kind: 'wait', for: { days: 2 } },
      { id: 'two', variants: [{ body: 'A!' }, { body: 'B!' }] },
      { message: 'Three' },
    );
    expect(problemOfEdit(before, after)).toBeNull();
  });

  it.each([
    ['leave', [one, ask, two], [2, 'id']],
    ['change places', [ask, one, wait, two], [0, 'id']],
    ['be taken out at the end', [one, ask, wait], []],
    ['be added before others', [...steps({ id: 'new', message: 'New' }), one, ask, wait, two], [0, 'id']],
    ['become of another kind', [one, ask, ...steps({ id: 'wait', message: 'Now' }), two], [2]],
    [
      'change their channel',
      [...steps({ id: 'one', message: 'One', messageType: 'sms' }), ask, wait, two],
      [0],
    ],
    ['change the number of variants', [one, ask, wait, ...steps({ id: 'two', message: 'Two' })], [3]],
    ['lose their ids', [...steps({ message: 'One' }), ask, wait, two], [0, 'id']],
  ])('cannot %s', (_, after, path) => expect(problemOfEdit(before, after)?.path).toEqual(path));

  it('stay where they are after any edit that is allowed, so that nobody moves backwards or gets one twice', () => {
    const step = fc.nat(9).map((id) => ({ id: `s${id}`, message: 'Hi' }));
    const tree = fc.uniqueArray(
      fc.oneof(
        step,
        fc
          .record({
            number: fc.nat(9),
            inner: fc.uniqueArray(step, { selector: ({ id }) => id, maxLength: 2 }),
          })
          .map(({ number, inner }) => ({
            id: `b${number}`,
            kind: 'branch',
            branches: [
              {
                name: 'x',
                when: [{ field: 'replied' }],
                steps: inner.map((one) => ({ ...one, id: `b${number}${one.id}` })),
              },
            ],
            else: [],
          })),
      ),
      { selector: ({ id }) => id, minLength: 1, maxLength: 5 },
    );
    const edit = fc.record({
      first: tree,
      second: fc.option(tree),
      added: fc.nat(2),
      texts: fc.string({ minLength: 1, maxLength: 3 }),
      drops: fc.boolean(),
    });
    fc.assert(
      fc.property(edit, ({ first, second, added, texts, drops }) => {
        const old = steps(...first);
        const kept = (second ?? first).map((one) =>
          'message' in one ? { ...one, message: `x${texts}` } : one,
        );
        const more = Array.from({ length: added }, (_, index) => ({ id: `new${index}`, message: 'More' }));
        const all = [...kept, ...more];
        const after = steps(...(drops && second === null ? all.slice(1) : all));
        const isAllowed = problemOfEdit(old, after) === null;
        if (second === null && !drops) expect(isAllowed).toBe(true);
        if (!isAllowed) return;
        const placed = stepsById(after);
        for (const { id, index, next, path } of placedSteps(old)) {
          const now = placed.get(id);
          expect([now?.index, now?.path]).toEqual([index, path]);
          if (next !== null) expect(now?.next).toBe(next);
          else if (now?.next) expect(old.some((one) => one.id === now.next)).toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  });
});
