import { ActivityNotFoundError, type Client, WorkflowNotFoundError } from '@temporalio/client';
import proto from '@temporalio/proto';

const { PENDING_ACTIVITY_STATE_STARTED } = proto.temporal.api.enums.v1.PendingActivityState;

/**
 * Ends the running attempts of a workflow's activities that a worker has, as failed: they are retried by their policies.
 * @param identity of the worker.
 * @returns the number of attempts that were ended.
 */
export async function endActivitiesOf(
  client: Client,
  workflowId: string,
  identity: string,
  reason: Error,
): Promise<number> {
  let ended = 0;
  try {
    const { runId, raw } = await client.workflow.getHandle(workflowId).describe();
    for (const { activityId, state, lastWorkerIdentity } of raw.pendingActivities ?? []) {
      if (!activityId || state !== PENDING_ACTIVITY_STATE_STARTED || lastWorkerIdentity !== identity)
        continue;
      await client.activity.fail({ workflowId, runId, activityId }, reason);
      ended += 1;
    }
  } catch (error) {
    // It has ended in the meantime.
    if (!(error instanceof ActivityNotFoundError || error instanceof WorkflowNotFoundError)) throw error;
  }
  return ended;
}
