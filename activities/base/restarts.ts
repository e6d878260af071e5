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
 * @param wake called with each of the others as soon as that is known, so that it does not wait for the looks at the rest.
 * @returns the number of workflows that were started anew.
 */
export async function restartFailing(
  { temporal, logger }: Pick<Dependencies, 'temporal' | 'logger'>,
  late: readonly Overdue[],
  wake: (workflow: Overdue) => void,
): Promise<number> {
  let restarted = 0;
  const limit = pLimit(AT_ONCE);
  const end = performance.now() + FOR_MS;
  const look = async ({ workflowId, workspaceId }: Overdue): Promise<boolean> => {
    if (performance.now() >= end) return false;
    try {
      const failing = await findFailingTask(temporal, workflowId, FAILED_ATTEMPTS);
      if (!failing) return false;
      const { runId, attempts } = failing;
      await restartWorkflow(
        temporal,
        { workflowId, workspaceId },
        `its workflow task has failed ${attempts} times; started anew by the sweep`,
        { runId },
      );
      logger.warn(
        { workflowId, workspaceId, runId, attempts },
        'a workflow whose tasks fail was started anew',
      );
      return true;
    } catch (error) {
      // The signal that it gets instead is retried.
      logger.warn({ error, workflowId, workspaceId }, 'a workflow that is overdue could not be looked at');
      return false;
    }
  };
  const lookOrWake = async (workflow: Overdue): Promise<void> => {
    if (await look(workflow)) restarted += 1;
    else wake(workflow);
  };
  await Promise.all(late.map((workflow) => limit(lookOrWake, workflow)));
  return restarted;
}
