import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import { overdueFor } from '#db/wakes/wakes.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import { findFailingTask } from '#providers/failing-tasks.ts';

/** A workflow whose tasks fail, and how often. */
export interface Failing {
  workflowId: string;
  attempts: number;
}

const LOOK_EVERY_MS = 2000;
/** A workflow whose task fails is overdue: its tables have work for it. */
const OVERDUE_SECONDS = 3;
const MOST_LOOKED_AT = 200;
const AT_ONCE = 10;
/** The first failure may be that of a worker that was killed. */
const FAILED_ATTEMPTS = 2;

/** The workflows that are overdue because their tasks fail, at most some hundred. */
export async function failingNow(client: Client, db: SystemDb): Promise<Failing[]> {
  const overdue = await overdueFor(db, OVERDUE_SECONDS, MOST_LOOKED_AT);
  const limit = pLimit(AT_ONCE);
  const found = await Promise.all(
    overdue.map(({ workflowId }) =>
      limit(async () => {
        const task = await findFailingTask(client, workflowId, FAILED_ATTEMPTS);
        return task ? [{ workflowId, attempts: task.attempts }] : [];
      }),
    ),
  );
  return found.flat();
}

/**
 * Watches for some time whether workflows begin to fail.
 * @param known those that failed before, which say nothing about the new build.
 * @returns the first that fail; empty: none do.
 */
export async function watchFailures(
  { client, db }: { client: Client; db: SystemDb },
  known: ReadonlySet<string>,
  seconds: number,
): Promise<Failing[]> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const failing = (await failingNow(client, db)).filter(({ workflowId }) => !known.has(workflowId));
    const left = end - performance.now();
    if (failing.length > 0 || left <= 0) return failing;
    await pause(Math.min(LOOK_EVERY_MS, left));
  }
}
