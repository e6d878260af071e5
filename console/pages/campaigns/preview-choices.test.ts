import { expect, test } from 'vitest';
import type { AnyStep } from './campaign.ts';
import { assumptionsOf, choicesOf } from './preview-choices.ts';

const branch = (...when: object[]): AnyStep =>
  ({
    id: 'branch',
    kind: 'branch',
    branches: when.map((condition, index) => ({ name: `${index}`, when: [condition], steps: [] })),
    else: [],
  }) as unknown as AnyStep;
const campaign = (steps: AnyStep[], onReply: 'stop' | 'pause' | 'continue' = 'continue') => ({
  steps,
  onReply,
  stopWhen: [],
});

test('a preview offers what the campaign asks about, and nothing else', () => {
  expect(choicesOf(campaign([branch({ field: 'tag', op: 'eq', value: 'vip' })]))).toEqual({
    replies: null,
    deeds: [],
  });
  expect(choicesOf(campaign([branch({ field: 'replied' }, { field: 'clicked' })]))).toEqual({
    replies: [],
    deeds: ['clicked'],
  });
  const words = [
    { field: 'replied', op: 'contains', value: ['yes', 'sure'] },
    { field: 'replied', op: 'contains', value: 'no' },
    { field: 'read', op: 'eq', value: true },
    { field: 'delivered', op: 'eq', value: false },
  ];
  expect(choicesOf(campaign([branch(...words)]))).toEqual({
    replies: ['yes', 'no'],
    deeds: ['read', 'missed'],
  });
  const silence = { field: 'no_reply_for', op: 'gte', value: { days: 3 } };
  expect(choicesOf(campaign([branch(silence)])).replies).toEqual([]);
  expect(choicesOf({ ...campaign([]), stopWhen: [{ field: 'clicked' }] }).deeds).toEqual(['clicked']);
});

test('any answer is the same to a campaign that stops or pauses then, and none to one that goes on', () => {
  const words = branch({ field: 'replied', op: 'contains', value: ['yes', 'sure'] });
  expect(choicesOf(campaign([words], 'stop')).replies).toEqual([]);
  expect(choicesOf(campaign([], 'pause')).replies).toEqual([]);
  expect(choicesOf(campaign([], 'continue')).replies).toBeNull();
});

test('only what is chosen is assumed', () => {
  expect(assumptionsOf('', [])).toEqual({});
  expect(assumptionsOf('yes', ['clicked', 'missed'])).toEqual({
    replies: ['yes'],
    clicked: true,
    delivered: false,
  });
});
