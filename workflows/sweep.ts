import { patched, proxyActivities, sleep } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { probing } from './probing.ts';
import { MANY_OVERDUE } from './protocol/round.ts';

const step = (summary: string) =>
  proxyActivities<Activities>({
    summary,
    startToCloseTimeout: '5 minutes',
    // If no slot is free, the next sweep must be able to start.
    scheduleToCloseTimeout: '8 minutes',
    // Without it, a sweep whose worker was killed would delay the next ones.
    heartbeatTimeout: '20s',
    retry: { maximumAttempts: 3 },
  });
const { wakeOverdue } = step('Signal the workflows that are overdue');
const { rehomeStranded } = step('Find a line for messages that have none');

/** Longer than it takes until a workflow counts as overdue. */
const UNTIL_OVERDUE = '40s';

interface Swept {
  woken: number;
  rehomed: number;
}

/**
 * Started by operators, and by a worker at its start. Wakes overdue workflows now, as `housekeeping` does on its schedule.
 * @param options.again once more, for what a crash a moment ago has lost.
 * @param options.carriers whose lines are probed first, if they are due.
 */
export async function sweep({
  again = false,
  carriers = [],
}: { again?: boolean; carriers?: readonly string[] } = {}): Promise<Swept> {
  await Promise.all(carriers.map((carrier) => probing(carrier).probeLines({ carrier })));
  const first = await sweepNow();
  if (!again) return first;
  await sleep(UNTIL_OVERDUE, { summary: 'what a crash has lost is overdue by then' });
  const second = await sweepNow();
  return { woken: first.woken + second.woken, rehomed: first.rehomed + second.rehomed };
}

async function sweepNow(): Promise<Swept> {
  let woken = 0;
  let found: number;
  do {
    found = await wakeOverdue();
    woken += found;
  } while (found >= MANY_OVERDUE && patched('sweep-goes-on'));
  return { woken, rehomed: await rehomeStranded() };
}
