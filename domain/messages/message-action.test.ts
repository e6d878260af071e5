import { describe, expect, it, test } from 'vitest';
import { type MessageAction, nextAction, typingMs } from './message-action.ts';

const NOW = new Date('2026-03-02T16:00:00Z');
const open = (messageId: string, action: MessageAction, seconds = 0) => ({
  messageId,
  action,
  dueAt: new Date(NOW.getTime() + seconds * 1000),
  status: 'pending' as const,
});
const edit = (text: string): MessageAction => ({ kind: 'edit', text });
const OFF: MessageAction = { kind: 'typing', on: false };

describe('the next action of a line', () => {
  it('is the first that is due, whatever ends later', () => {
    const love = open('b', { kind: 'reaction', reaction: 'love', removed: false });
    expect(nextAction([open('a', OFF, 30), love], NOW)).toBe(love);
  });

  it('is none of a message whose earlier one is tried again later', () => {
    const again = open('a', edit('One'), 10);
    const other = open('b', edit('Other'));
    expect(nextAction([again, open('a', edit('Two')), other], NOW)).toBe(other);
    expect(nextAction([again, open('a', edit('Two'))], NOW)).toBe(again);
  });

  it('is the one that a carrier is called for', () => {
    const calling = { ...open('b', edit('One'), 5), status: 'calling' as const };
    expect(nextAction([open('a', edit('Two')), calling], NOW)).toBe(calling);
    expect(nextAction([], NOW)).toBeNull();
  });
});

test('a line types for a second for each 12 characters, from 1 to 8', () => {
  expect(['', 'x'.repeat(12), 'x'.repeat(48), 'x'.repeat(1000)].map(typingMs)).toEqual([
    1000, 1000, 4000, 8000,
  ]);
});
