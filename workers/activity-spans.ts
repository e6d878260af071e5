import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { inLogContext } from '#providers/log-context.ts';
import { inTaskSpan } from '#providers/task-span.ts';

/** Names the workflow in the log lines of its activities and, where traces are recorded, in a span of each. */
export const activitySpans: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    execute(input, next) {
      const { activityType, attempt, taskQueue, workflowExecution } = info;
      const workflowId = workflowExecution?.workflowId;
      const { workspaceId } = (input.args[0] ?? {}) as { workspaceId?: string };
      const attributes = {
        temporalWorkflowID: workflowId,
        temporalRunID: workflowExecution?.runId,
        'linepace.task_queue': taskQueue,
        'linepace.attempt': attempt,
      };
      return inLogContext({ workflowId, activityType, attempt, workspaceId }, () =>
        inTaskSpan(`activity ${activityType}`, attributes, () => next(input)),
      );
    },
  },
});
