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
