import pLimit from 'p-limit';
import { findFailingTask, restartWorkflow } from '#providers/failing-tasks.ts';
import type { Dependencies } from '../dependencies.ts';

/** A workflow that is overdue. */
interface Overdue {
  workflowId: string;
  workspaceId: string;
}

const AT_ONCE = 20;
/** Of one sweep, which has half a minute. */
const FOR_MS = 10_000;
/** A task fails once or twice when its worker dies. */
const FAILED_ATTEMPTS = 3;

/**
 * Starts those workflows anew whose tasks fail: a workflow of another build, or with a bug, can neither go on nor hear a signal, and any run
 * may be terminated. Those that it has no time for come with the next sweep.
 * @returns the ids of the workflows that were started anew.
 */
export async function restartFailing(
  { temporal, logger }: Pick<Dependencies, 'temporal' | 'logger'>,
  late: readonly Overdue[],
): Promise<ReadonlySet<string>> {
  const restarted = new Set<string>();
  const limit = pLimit(AT_ONCE);
  const end = performance.now() + FOR_MS;
  const look = async ({ workflowId, workspaceId }: Overdue): Promise<void> => {
    if (performance.now() >= end) return;
    try {
      const failing = await findFailingTask(temporal, workflowId, FAILED_ATTEMPTS);
      if (!failing) return;
      const { runId, attempts } = failing;
      await restartWorkflow(
        temporal,
        { workflowId, workspaceId },
        `its workflow task has failed ${attempts} times; started anew by the sweep`,
        { runId },
      );
      restarted.add(workflowId);
      logger.warn(
        { workflowId, workspaceId, runId, attempts },
        'a workflow whose tasks fail was started anew',
      );
    } catch (error) {
      // The signal that it gets instead is retried.
      logger.warn({ error, workflowId, workspaceId }, 'a workflow that is overdue could not be looked at');
    }
  };
  await Promise.all(late.map((workflow) => limit(look, workflow)));
  return restarted;
}
