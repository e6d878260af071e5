import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { inLogContext } from '#providers/log-context.ts';

/** Names the workflow in the log lines of its activities and, where traces are recorded, in a span of each. */
export const activitySpans: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    execute(input, next) {
      const { activityType, attempt, taskQueue, workflowExecution } = info;
      const workflowId = workflowExecution?.workflowId;
      const { workspaceId } = (input.args[0] ?? {}) as { workspaceId?: string };
      return inLogContext({ workflowId, activityType, attempt, workspaceId }, async () => {
        const attributes = {
          temporalWorkflowID: workflowId,
          temporalRunID: workflowExecution?.runId,
          'linepace.task_queue': taskQueue,
          'linepace.attempt': attempt,
        };
        const span = trace
          .getTracer('linepace')
          .startSpan(`activity ${activityType}`, { kind: SpanKind.CONSUMER, attributes }, ROOT_CONTEXT);
        try {
          return await context.with(trace.setSpan(ROOT_CONTEXT, span), () => next(input));
        } catch (error) {
          span.setStatus({ code: SpanStatusCode.ERROR });
          throw error;
        } finally {
          span.end();
        }
      });
    },
  },
});
