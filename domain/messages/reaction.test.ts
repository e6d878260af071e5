import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { shownReactions, type StoredReaction, withOwnReaction, withReaction } from './reaction.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();

test('a contact who reacts with any number of emoji, or adds and removes them, fills no message', () => {
  let reactions = withOwnReaction([], { reaction: 'like', from: '+14155550100', at: at(0) }, 'sent');
  for (let second = 1; second <= 1000; second += 1) {
    const next: StoredReaction = {
      by: 'contact',
      status: 'sent',
      reaction: 'emoji',
      emoji: `emoji ${second}`,
      from: '+14155550199',
      at: at(second),
      removed: second % 2 === 0,
    };
    reactions = withReaction(reactions, next, true) ?? reactions;
  }
  expect(reactions).toHaveLength(201);
  expect(reactions[0]).toMatchObject({ by: 'us', reaction: 'like' });
  expect(reactions.at(-1)).toMatchObject({ emoji: 'emoji 1000' });
});

describe('the reactions of contacts', () => {
  const [ADA, BEN] = ['+14155550123', '+14155550124'];
  const reacts = (
    second: number,
    reaction: StoredReaction['reaction'],
    more: Partial<StoredReaction> = {},
  ): StoredReaction => ({
    by: 'contact',
    status: 'sent',
    reaction,
    from: ADA,
    at: at(second),
    removed: false,
    ...more,
  });
  const shown = (events: StoredReaction[], isEmail = false): string[] => {
    let known: StoredReaction[] = [];
    for (const event of events) known = withReaction(known, event, isEmail) ?? known;
    return shownReactions(known).map(({ from, reaction, emoji }) => `${from} ${emoji ?? reaction}`);
  };

  it.each<[string, StoredReaction[], string[]]>([
    ['another one', [reacts(1, 'like'), reacts(2, 'love')], [`${ADA} love`]],
    ['an emoji', [reacts(1, 'like'), reacts(2, 'emoji', { emoji: '🔥' })], [`${ADA} 🔥`]],
    [
      'another emoji',
      [reacts(1, 'emoji', { emoji: '🔥' }), reacts(2, 'emoji', { emoji: '👀' })],
      [`${ADA} 👀`],
    ],
    ['one at the same time', [reacts(1, 'like'), reacts(1, 'love')], [`${ADA} love`]],
    [
      'one that is told together with the removal of the first',
      [reacts(1, 'like'), reacts(2, 'like', { removed: true }), reacts(2, 'love')],
      [`${ADA} love`],
    ],
    [
      'nothing, once it is removed',
      [reacts(1, 'like'), reacts(2, 'love'), reacts(3, 'love', { removed: true })],
      [],
    ],
    ['the first again', [reacts(1, 'like'), reacts(2, 'love'), reacts(3, 'like')], [`${ADA} like`]],
  ])('are replaced by %s', (_what, events, expected) => {
    expect(shown(events)).toEqual(expected);
  });

  it('are of each of them, and stickers and those to emails are kept', () => {
    const ofBoth = [reacts(1, 'like'), reacts(2, 'love', { from: BEN })];
    expect(shown(ofBoth)).toEqual([`${ADA} like`, `${BEN} love`]);
    expect(shown([reacts(1, 'like'), reacts(2, 'sticker')])).toEqual([`${ADA} like`, `${ADA} sticker`]);
    const emoji = [reacts(1, 'emoji', { emoji: '🎉' }), reacts(2, 'emoji', { emoji: '👀' })];
    expect(shown(emoji, true)).toEqual([`${ADA} 🎉`, `${ADA} 👀`]);
  });

  it('are to each part of a message, such as its text and its photo', () => {
    const ofBoth = [reacts(1, 'like'), reacts(2, 'love', { part: 1 })];
    expect(shown(ofBoth)).toEqual([`${ADA} like`, `${ADA} love`]);
    expect(shown([...ofBoth, reacts(3, 'laugh', { part: 1 })])).toEqual([`${ADA} like`, `${ADA} laugh`]);
    const removed = reacts(3, 'love', { part: 1, removed: true });
    expect(shown([...ofBoth, removed])).toEqual([`${ADA} like`]);
  });

  it('that were only added are the same in any order of arrival', () => {
    const events = fc.array(
      fc.record({
        second: fc.integer({ min: 1, max: 100 }),
        reaction: fc.constantFrom('like', 'love', 'sticker'),
        from: fc.constantFrom(ADA, BEN),
      }),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(events, fc.infiniteStream(fc.nat()), (drawn, order) => {
        const distinct = [...new Map(drawn.map((one) => [one.second, one])).values()];
        const told = distinct.map(({ second, reaction, from }) => reacts(second, reaction, { from }));
        const sorted = told.toSorted((a, b) => (a.at < b.at ? -1 : 1));
        const keys = told.map(() => order.next().value);
        const shuffled = told
          .map((one, index) => ({ one, key: keys[index] }))
          .toSorted((a, b) => a.key - b.key);
        expect(shown(shuffled.map(({ one }) => one)).toSorted()).toEqual(shown(sorted).toSorted());
      }),
    );
  });
});
