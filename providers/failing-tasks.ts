import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { signalWorkflow } from './temporal.ts';

/** A workflow whose workflow task fails again and again: it cannot hear a signal, nor replay. */
export interface FailingTask {
  runId: string;
  /** How often the task was tried. */
  attempts: number;
}

/** @returns null if the workflow does not run, or its task was tried fewer times. */
export async function findFailingTask(
  client: Client,
  workflowId: string,
  leastAttempts: number,
): Promise<FailingTask | null> {
  try {
    const { runId, raw } = await client.workflow.getHandle(workflowId).describe();
    const attempts = raw.pendingWorkflowTask?.attempt ?? 0;
    return attempts >= leastAttempts ? { runId, attempts } : null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/**
 * Terminates a workflow and starts it anew. Its state is in PostgreSQL, so nothing is lost.
 * @param options.runId only this run; a newer one is left alone. Absent: whichever runs.
 */
export async function restartWorkflow(
  client: Client,
  { workflowId, workspaceId }: { workflowId: string; workspaceId: string },
  reason: string,
  { runId }: { runId?: string } = {},
): Promise<void> {
  await terminate(client, workflowId, reason, runId);
  await signalWorkflow(client, workflowId, workspaceId, 'overdue');
}

/** Somebody waits for it. */
const END_MS = 10_000;

/** Ends the run of work that was set aside: a new one does not wait for the next attempt of the old one. */
export async function endSetAside(
  client: Client,
  { workflowId, workspaceId }: { workflowId: string; workspaceId: string },
  action: 'retry' | 'drop',
): Promise<void> {
  const reason = `set aside, then ${action === 'drop' ? 'dropped' : 'retried'} by an operator`;
  await client.withDeadline(Date.now() + END_MS, () =>
    action === 'retry'
      ? restartWorkflow(client, { workflowId, workspaceId }, reason)
      : terminate(client, workflowId, reason),
  );
}

/** Terminates a workflow, unless it has ended. */
async function terminate(client: Client, workflowId: string, reason: string, runId?: string): Promise<void> {
  await client.workflow
    .getHandle(workflowId, runId)
    .terminate(reason)
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}
