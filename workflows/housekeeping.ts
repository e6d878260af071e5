import {
  ActivityFailure,
  CancelledFailure,
  log,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  sleep,
  TemporalFailure,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { MANY_OVERDUE } from './protocol/round.ts';
import { probing } from './probing.ts';
import { HOUSEKEEPING_QUEUE, PRIORITY } from './protocol/task-queues.ts';

// Local activities, because together they cost one action if there is nothing to do.
const local = (summary: string) =>
  proxyLocalActivities<Activities>({ summary, startToCloseTimeout: '30s', retry: { maximumAttempts: 3 } });
const { wakeOverdue } = local('Signal the workflows that are overdue, and end snoozes');
const { rehomeStranded } = local('Find a line for messages that have none');
const { carriersToProbe } = local('Find the carriers whose lines are to be probed');
const { countDays } = proxyLocalActivities<Activities>({
  summary: 'Bring the metrics by the day up to date',
  startToCloseTimeout: '30s',
  // The next round is the retry.
  retry: { maximumAttempts: 1 },
});
const { judgeIdleLines } = local('Judge the reputation of lines that have not sent for an hour');
/** @param runMs the activity must end within the run, because the next run starts only after it. */
const trimming = (runMs: number) =>
  proxyActivities<Activities>({
    taskQueue: HOUSEKEEPING_QUEUE,
    summary: 'Publish events, delete expired data, and record the sizes of workspaces for the planner',
    scheduleToCloseTimeout: runMs * 0.9,
    heartbeatTimeout: '30s',
    // The next run is the retry.
    retry: { maximumAttempts: 1 },
    priority: { priorityKey: PRIORITY.housekeeping },
  });
const ROUND_MS = 2 * 60_000;
/** With active lines. A line is `down` only after three failed probes, which must not take long. */
const PROBING_ROUND_MS = 60_000;

/**
 * Started by a schedule. Wakes overdue workflows, ends snoozes, reassigns messages of removed lines, probes lines (so that a line
 * that is down stops sending and a recovered line resumes), scores the reputation of idle lines, counts daily metrics, and deletes
 * expired data. One run has several rounds, because each start by a schedule costs three actions. A task that hangs, fails or finds
 * no worker does not prevent the others.
 * @param input.runMs how often the schedule starts a run. A run ends before the next is due, or soon after.
 */
export async function housekeeping({ runMs }: { runMs: number }): Promise<{
  woken: number;
  rehomed: number;
  probed: number;
}> {
  const done = { woken: 0, rehomed: 0, probed: 0 };
  let probes: Promise<void> | null = null;
  const trimmed = unlessItFails(trimming(runMs).trim(), 0);
  const end = Date.now() + runMs;
  for (let round = 1; ; round += 1) {
    await wakeAll();
    done.rehomed += await unlessItFails(rehomeStranded(), 0);
    await unlessItFails(countDays(), 0);
    await unlessItFails(judgeIdleLines(), 0);
    const carriers = await unlessItFails(carriersToProbe(), []);
    if (carriers.length > 0) probes ??= probe(carriers);
    const pause = carriers.length > 0 ? PROBING_ROUND_MS : ROUND_MS;
    if (Date.now() + pause >= end) break;
    setCurrentDetails(`Round ${round}: woke ${done.woken} overdue workflows so far.`);
    await sleep(pause, { summary: 'Until the next round' });
  }
  await Promise.all([trimmed, probes]);
  return done;

  /** After a loss of Temporal every workflow is overdue. */
  async function wakeAll(): Promise<void> {
    let woken: number;
    do {
      woken = await unlessItFails(wakeOverdue(), 0);
      done.woken += woken;
    } while (woken >= MANY_OVERDUE && Date.now() < end && patched('sweep-goes-on'));
  }

  /** A carrier that hangs, or that no worker serves, does not prevent probes of the others. */
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
    // A local activity fails with the error that it threw, without an ActivityFailure around it.
    if (!(error instanceof TemporalFailure) || error instanceof CancelledFailure) throw error;
    log.warn('a step of housekeeping failed', {
      reason: error.message,
      ...(error instanceof ActivityFailure && { activityType: error.activityType }),
    });
    return otherwise;
  });
}
