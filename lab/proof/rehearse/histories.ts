import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

const { WorkflowTaskFailedCause: Cause } = proto.temporal.api.enums.v1;

/** The server asks a worker to repeat a task because a signal arrived meanwhile. That is no failure. */
const USUAL = [Cause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND];

/** Counts what went wrong in all histories. */
export async function readHistories(client: Client) {
  let [workflows, events] = [0, 0];
  const failedTasks: string[] = [];
  const failedWorkflows: string[] = [];
  for await (const { workflowId, runId, type, status } of client.workflow.list()) {
    workflows += 1;
    if (status.name === 'FAILED' || status.name === 'TIMED_OUT')
      failedWorkflows.push(`${type} ${workflowId}`);
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    events += history.events?.length ?? 0;
    for (const { workflowTaskFailedEventAttributes: failed } of history.events ?? []) {
      const cause = failed?.cause ?? null;
      if (cause !== null && !USUAL.includes(cause))
        failedTasks.push(`${type} ${workflowId}: ${Cause[cause]} ${failed?.failure?.message ?? ''}`);
    }
  }
  return { workflows, events, failedTasks, failedWorkflows };
}
