import {
  ActivityFailure,
  log,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  sleep,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { CARRIER_PATIENCE, carrierQueue, HOUSEKEEPING_QUEUE } from './messages/task-queues.ts';

// One action for all three together, where nothing is to be done.
const { wakeOverdue, rehomeStranded, carriersToProbe } = proxyLocalActivities<Activities>({
  startToCloseTimeout: '30s',
  retry: { maximumAttempts: 3 },
});
const { trim } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Delete what is past its time',
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  // The next run is the retry.
  retry: { maximumAttempts: 1 },
});
const probing = (carrier: string) =>
  proxyActivities<Activities>({
    taskQueue: carrierQueue(carrier),
    summary: 'Probe the lines whose last probe is the longest ago',
    scheduleToStartTimeout: CARRIER_PATIENCE,
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: '30s',
    retry: { maximumAttempts: 2 },
  });

/** The schedule starts a run this often. */
const RUN_MS = 10 * 60_000;
const TURN_MS = 2 * 60_000;
/** While a carrier has active lines: three failed probes make a line `down`, which is not to take long. */
const PROBING_TURN_MS = 60_000;

/**
 * By schedule: finds due work that nobody was told about after a crash, probes lines, so that one which is down stops
 * sending and one that recovered goes on, and deletes what has aged. Turns of one run, since each start of a schedule
 * costs three actions. What hangs or fails keeps nothing else from being done.
 */
export async function housekeeping(): Promise<{ woken: number; rehomed: number; probed: number }> {
  const done = { woken: 0, rehomed: 0, probed: 0 };
  let probes: Promise<void> | null = null;
  const trimming = unlessItFails(trim(), 0);
  const end = Date.now() + RUN_MS;
  for (let turn = 1; ; turn += 1) {
    done.woken += await unlessItFails(wakeOverdue(), 0);
    done.rehomed += await unlessItFails(rehomeStranded(), 0);
    const carriers = await unlessItFails(carriersToProbe(), []);
    if (carriers.length > 0) probes ??= probe(carriers);
    const pause = carriers.length > 0 ? PROBING_TURN_MS : TURN_MS;
    if (Date.now() + pause >= end) break;
    setCurrentDetails(`Turn ${turn}: woke ${done.woken} overdue workflows so far.`);
    await sleep(pause, { summary: 'Until the next turn' });
  }
  await Promise.all([trimming, probes]);
  return done;

  /** A carrier that hangs, or that no worker serves, keeps no other from being probed. */
  async function probe(carriers: readonly string[]): Promise<void> {
    const counts = await Promise.all(
      carriers.map((carrier) => unlessItFails(probing(carrier).probeLines({ carrier }), 0)),
    );
    done.probed += counts.reduce((sum, count) => sum + count, 0);
    probes = null;
  }
}

async function unlessItFails<T>(step: Promise<T>, otherwise: T): Promise<T> {
  return step.catch((error: unknown) => {
    if (!(error instanceof ActivityFailure)) throw error;
    log.warn('a step of housekeeping failed', { activityType: error.activityType });
    return otherwise;
  });
}
