import { describe, expect, it } from 'vitest';
import { createShare } from './fair-share.ts';

function takeAll(share: ReturnType<typeof createShare>, workspaceId: string): number {
  let taken = 0;
  while (share.take(workspaceId)) taken += 1;
  return taken;
}

describe("a workspace's share of the slots", () => {
  it('is half while it is the only one', () => {
    expect(takeAll(createShare(100), 'a')).toBe(50);
    expect(takeAll(createShare(1), 'a')).toBe(1);
  });

  it('leaves a slot for the next workspace, however much the others request', () => {
    const share = createShare(100);
    const taken = ['a', 'b', 'c', 'd'].map((workspaceId) => takeAll(share, workspaceId));
    expect(Math.min(...taken)).toBeGreaterThan(0);
    expect(share.take('e')).toBe(true);
  });

  it('becomes equal to the others as slots are released and taken again', () => {
    const share = createShare(90);
    const workspaces = ['a', 'b'];
    const held = new Map(workspaces.map((workspaceId) => [workspaceId, takeAll(share, workspaceId)]));
    for (let turn = 0; turn < 200; turn += 1) {
      const [first = '', second = ''] = turn % 2 === 0 ? workspaces : workspaces.toReversed();
      share.release(first);
      held.set(first, (held.get(first) ?? 0) - 1);
      for (const workspaceId of [second, first])
        held.set(workspaceId, (held.get(workspaceId) ?? 0) + takeAll(share, workspaceId));
    }
    const [a = 0, b = 0] = held.values();
    expect(Math.abs(a - b)).toBeLessThanOrEqual(1);
    expect(90 - a - b).toBeGreaterThanOrEqual(Math.min(a, b) - 1);
  });
});

describe('a task that waits on its slot', () => {
  /** Takes a slot and waits on it. @returns how it was told to give it up, and what gives it back; null: it may not wait. */
  function waitOn(share: ReturnType<typeof createShare>, workspaceId: string) {
    if (!share.take(workspaceId)) return null;
    let isAsked = false;
    const end = share.wait(workspaceId, () => void (isAsked = true));
    const giveBack = (): void => {
      end?.();
      share.release(workspaceId);
    };
    if (end) return { isAsked: () => isAsked, giveBack };
    giveBack();
    return null;
  }
  const fill = (share: ReturnType<typeof createShare>, workspaceId: string) => {
    const waits: NonNullable<ReturnType<typeof waitOn>>[] = [];
    for (let wait = waitOn(share, workspaceId); wait; wait = waitOn(share, workspaceId)) waits.push(wait);
    return waits;
  };

  it('may do so while more than half of the slots are free', () => {
    expect(fill(createShare(100), 'a')).toHaveLength(49);
    expect(fill(createShare(1), 'a')).toHaveLength(0);
  });

  it('counts for no workspace, and is told to end when others have work', () => {
    const share = createShare(100);
    const waits = fill(share, 'a');
    let taken = 0;
    for (; share.take('a'); taken += 1) {
      const asked = waits.findIndex(({ isAsked }) => isAsked());
      if (asked >= 0) waits.splice(asked, 1)[0]?.giveBack();
    }
    expect(taken).toBe(50);
    expect(waits).toHaveLength(0);
  });

  it('gives its slot back once, whoever ended the wait', () => {
    const share = createShare(5);
    const wait = waitOn(share, 'a');
    expect([share.take('b'), wait?.isAsked()]).toEqual([true, false]);
    expect([share.take('b'), wait?.isAsked()]).toEqual([true, true]);
    wait?.giveBack();
    share.release('b');
    share.release('b');
    expect(takeAll(share, 'a')).toBe(3);
  });
});
