import { expect, test } from 'vitest';
import { type StoredReaction, withOwnReaction, withReaction } from './reaction.ts';

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
    reactions = withReaction(reactions, next) ?? reactions;
  }
  expect(reactions).toHaveLength(201);
  expect(reactions[0]).toMatchObject({ by: 'us', reaction: 'like' });
  expect(reactions.at(-1)).toMatchObject({ emoji: 'emoji 1000' });
});
