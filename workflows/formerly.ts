import {
  allHandlersFinished,
  CancellationScope,
  condition,
  patched,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { isLongEnough, type News } from './listen.ts';
import type { Round } from './messages/round.ts';

/**
 * The workflow loop before signals had names (version 0.1). Runs that started with it keep it until they end or continue as
 * new, at the latest after a day of idleness. Delete it in the version after the next.
 */

/** Whether a run started with named signals. Call it once, before anything else. */
export const hasNamedSignals = (): boolean => patched('named signals');

const LONGEST_IDLE_MS = 24 * 3_600_000;

const wasLongEnough = (): boolean =>
  workflowInfo().continueAsNewSuggested || (isLongEnough() && patched('short histories'));

export async function formerly(
  news: News,
  work: () => Promise<Round>,
  goOn: () => Promise<never>,
): Promise<string> {
  const reason = await loop(news, work);
  return reason ?? goOn();
}

/** @returns why it ends; null if it continues as new. */
async function loop(news: News, work: () => Promise<Round>): Promise<string | null> {
  while (!wasLongEnough()) {
    const { nextAt, reason, ended } = await news.after(work);
    if (ended && !news.any()) return end(reason);
    if (nextAt === null) {
      setCurrentDetails(`Idle: ${reason}. Waits to be woken.`);
      if (!patched('idle workflows end')) await condition(news.any);
      else await sleepUnless(news.any, LONGEST_IDLE_MS, 'Ends when nothing comes');
      if (!news.any()) return end(reason);
      continue;
    }
    const pause = Date.parse(nextAt) - Date.now();
    if (pause <= 0) continue;
    setCurrentDetails(`Waits until **${nextAt}**: ${reason}.`);
    await sleepUnless(news.any, pause, reason);
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
