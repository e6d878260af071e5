import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import type { Pools } from '#db/connection/pools.ts';
import { createGapWaits } from './gap-waits.ts';

test('a round that waits gives up the slot of the workspace that its task named, although its line has moved', async () => {
  const wait = vi.fn(() => () => {});
  const gapWaits = createGapWaits({
    pools: { system: { anyFirst: async () => [] } } as unknown as Pools,
    slots: new Map([['carrier:simulated', { hasRoom: () => true, wait }]]),
    logger: pino({ enabled: false }),
  });
  const round = gapWaits.ofRound({
    taskQueue: 'carrier:simulated',
    workspaceId: 'org_new',
    taskWorkspaceId: 'org_former',
    workflowId: 'line-pacer:1',
    gaps: true,
    end: Date.now() + 60_000,
    canceled: AbortSignal.abort(),
  });
  await round.wait(new Date(Date.now() + 10_000), '0');
  expect(wait).toHaveBeenCalledWith('org_former', expect.any(Function));
});
