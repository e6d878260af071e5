import {
  allHandlersFinished,
  CancellationScope,
  condition,
  patched,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { isHistoryLong, type WorkLoop } from './work-loop.ts';
import type { Round } from './messages/round.ts';

/**
 * The workflow loop before signals had names (version 0.1). Runs that started with it keep it until they end or continue as
 * new, at the latest after a day of idleness. Delete it in the version after the next.
 */

/** Whether a run started with named signals. Call it once, before anything else. */
export const hasNamedSignals = (): boolean => patched('named signals');

const MAX_IDLE_MS = 24 * 3_600_000;

const isLegacyHistoryLong = (): boolean =>
  workflowInfo().continueAsNewSuggested || (isHistoryLong() && patched('short histories'));

export async function legacyLoop(
  loop: WorkLoop,
  work: () => Promise<Round>,
  startNewRun: () => Promise<never>,
): Promise<string> {
  const reason = await runRounds(loop, work);
  return reason ?? startNewRun();
}

/** @returns why it ends; null if it continues as new. */
async function runRounds(loop: WorkLoop, work: () => Promise<Round>): Promise<string | null> {
  while (!isLegacyHistoryLong()) {
    const { nextAt, reason, ended } = await loop.run(work);
    if (ended && !loop.isSignaled()) return end(reason);
    if (nextAt === null) {
      setCurrentDetails(`Idle: ${reason}. Waits to be woken.`);
      if (!patched('idle workflows end')) await condition(loop.isSignaled);
      else await sleepUnless(loop.isSignaled, MAX_IDLE_MS, 'Ends when nothing comes');
      if (!loop.isSignaled()) return end(reason);
      continue;
    }
    const pause = Date.parse(nextAt) - Date.now();
    if (pause <= 0) continue;
    setCurrentDetails(`Waits until **${nextAt}**: ${reason}.`);
    await sleepUnless(loop.isSignaled, pause, reason);
  }
  await condition(allHandlersFinished);
  return null;
}

async function end(reason: string): Promise<string> {
  setCurrentDetails(`Ended: ${reason}.`);
  await condition(allHandlersFinished);
  return reason;
}

/** One timer, canceled if the condition becomes true first. */
async function sleepUnless(interrupted: () => boolean, ms: number, summary: string): Promise<void> {
  const scope = new CancellationScope();
  await scope.run(async () => {
    try {
      await Promise.race([sleep(ms, { summary }), condition(interrupted)]);
    } finally {
      scope.cancel();
    }
  });
}
