import { describe, expect, it } from 'vitest';
import { createRoundSlots } from './round-slots.ts';

const round = (workspaceId: string, number: number, kind = 'drip-drainer') => ({
  workspaceId,
  workflowId: `${kind}:${workspaceId}-${number}`,
});
const roundsOf = (workspaceId: string, count: number) =>
  Array.from({ length: count }, (_, number) => round(workspaceId, number));

describe('the slots of the rounds of a process', () => {
  it('give a workspace at most half of a kind, and the others the rest', () => {
    const slots = createRoundSlots(new Map([['drip-drainer', 6]]));
    const due = [...roundsOf('busy', 9), ...roundsOf('small', 1)];
    const fitting = slots.fitting(due, slots.free());
    expect(fitting.filter(({ workspaceId }) => workspaceId === 'busy')).toHaveLength(3);
    expect(fitting.filter(({ workspaceId }) => workspaceId === 'small')).toHaveLength(1);
  });

  it('name the workspaces that have used up their half, until a round of theirs ends', () => {
    const slots = createRoundSlots(new Map([['drip-drainer', 4]]));
    const ends = roundsOf('busy', 2).map((one) => slots.take(one));
    expect(slots.full()).toEqual(['drip-drainer busy']);
    expect(slots.free()).toEqual(new Map([['drip-drainer', 2]]));
    expect(slots.fitting(roundsOf('busy', 1), slots.free())).toEqual([]);
    ends[0]?.();
    expect(slots.full()).toEqual([]);
    expect(slots.running('drip-drainer')).toBe(1);
  });

  it('are apart for each kind', () => {
    const slots = createRoundSlots(
      new Map([
        ['drip-drainer', 2],
        ['mailbox-reader', 2],
      ]),
    );
    for (const one of roundsOf('busy', 2)) slots.take(one);
    expect(slots.free()).toEqual(new Map([['mailbox-reader', 2]]));
    const reading = round('busy', 0, 'mailbox-reader');
    expect(slots.fitting([reading], slots.free())).toEqual([reading]);
  });
});
