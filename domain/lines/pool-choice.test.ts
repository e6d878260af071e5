import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  candidatesOf,
  closest,
  byRotation,
  keptLine,
  leastUsed,
  type PoolMember,
  turnsOf,
} from './pool-choice.ts';

const NOW = new Date('2026-03-02T12:00:00Z');
const member = (id: string, fields: Partial<PoolMember> = {}): PoolMember => ({
  id,
  channel: 'imessage',
  phone: null,
  weight: 1,
  stoppedAt: null,
  ...fields,
});
const stopped = (id: string, minutes: number): PoolMember =>
  member(id, { stoppedAt: new Date(NOW.getTime() - minutes * 60_000) });

describe('turns by weight', () => {
  it('give each line its exact share of a cycle, and keep close to it on the way', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 8 }), (weights) => {
        const turns = turnsOf(weights);
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const taken = weights.map(() => 0);
        for (const [position, index] of turns.entries()) {
          taken[index] = (taken[index] ?? 0) + 1;
          for (const [line, weight] of weights.entries())
            expect(Math.abs((taken[line] ?? 0) - ((position + 1) * weight) / total)).toBeLessThan(
              weights.length,
            );
        }
        for (const [line, weight] of weights.entries())
          expect((taken[line] ?? 0) * total).toBe(weight * turns.length);
      }),
    );
  });

  it('go on from any position', () => {
    const members = [member('a', { weight: 3 }), member('b')];
    const taken = Array.from({ length: 8 }, (_, turn) => byRotation(members, 1_000_001 + turn)?.id);
    expect(taken.filter((id) => id === 'a')).toHaveLength(6);
  });
});

describe('the lines among which a line is chosen', () => {
  it('are those of the best channel that work, else those that have stopped', () => {
    const [line, down, sms] = [member('line'), stopped('down', 1), member('sms', { channel: 'sms' })];
    expect(candidatesOf([line, down, sms], 'imessage')).toEqual([line]);
    expect(candidatesOf([line, down, sms], 'sms')).toEqual([sms]);
    expect(candidatesOf([down], 'imessage')).toEqual([down]);
    expect(candidatesOf([line], 'email')).toEqual([]);
  });

  it('are the closest ones', () => {
    const [newYork, toronto] = [
      member('ny', { phone: '+12125550100' }),
      member('to', { phone: '+14165550100' }),
    ];
    expect(closest([newYork, toronto], '+15185550100')).toEqual([newYork]);
    expect(closest([newYork, toronto], '+16135550100')).toEqual([toronto]);
    expect(closest([newYork, toronto], '+4930555010')).toEqual([newYork, toronto]);
    expect(closest([newYork, toronto], 'ada@example.com')).toEqual([newYork, toronto]);
  });

  it('are those with the least use for their weight', () => {
    const used = new Map([
      ['a', 4],
      ['b', 3],
    ]);
    expect(leastUsed([member('a', { weight: 2 }), member('b')], used)?.id).toBe('a');
    expect(leastUsed([member('a'), member('b')], used)?.id).toBe('b');
  });
});

describe('the line that a contact keeps', () => {
  const kept = (line: PoolMember, failover: 'never' | 'new_conversations' | 'always', isKnown: boolean) =>
    keptLine(
      { failover, failoverAfterMinutes: 15 },
      [line],
      { channel: 'imessage', has: { lineId: 'line', isKnown } },
      NOW,
    )?.id ?? null;

  it.each([
    ['works', member('line'), { strangers: 'line', known: 'line' }],
    ['has just stopped', stopped('line', 14), { strangers: null, known: 'line' }],
    ['has stopped for long', stopped('line', 15), { strangers: null, known: 'line' }],
  ])('of a line that %s, when conversations move', (_, line, { strangers, known }) => {
    expect(kept(line, 'new_conversations', false)).toBe(strangers);
    expect(kept(line, 'new_conversations', true)).toBe(known);
  });

  it('is given up after the time of a pool that moves all, and never by one that moves none', () => {
    expect(kept(stopped('line', 14), 'always', true)).toBe('line');
    expect(kept(stopped('line', 15), 'always', true)).toBeNull();
    expect(kept(stopped('line', 1000), 'never', false)).toBe('line');
  });
});
