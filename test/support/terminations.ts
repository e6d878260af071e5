import { ApplicationFailure } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { WORKSPACE_ID } from '#workflows/protocol/search-attributes.ts';
import { eventually } from './app.ts';
import { interceptActivities } from './intercepted-activities.ts';

/**
 * When a workflow is terminated: `before` its n-th activity, which then does nothing; `during` that activity, which still
 * completes, as if its worker had not noticed; or `after` it, at the next timer or wait.
 * `canceled`: the workflow is canceled during the activity. `paused`: the workflow continues, but an operator pauses the
 * activity, its worker crashes, and the operator unpauses it later.
 */
export interface Step {
  activity: number;
  when: 'before' | 'during' | 'after' | 'canceled' | 'paused';
}

/** Terminates workflows at a step, by type and owner (workspace or agency), and counts their activities. */
export interface Terminator {
  terminateAt(type: string, owner: string, step: Step): void;
  /** The types of the activities that workflows of a type have started for an owner, in order. */
  activitiesOf(type: string, owner: string): readonly string[];
  isDone(type: string, owner: string): boolean;
  /** What the owner's workflow of a type is doing now, for the message of a failed test. */
  describe(type: string, owner: string): Promise<string>;
}

/** Watches every worker that starts after this call. */
export function watchWorkers(client: () => Client): Terminator {
  const steps = new Map<string, Step>();
  const activities = new Map<string, string[]>();
  const terminated = new Set<string>();

  interceptActivities(({ info }) => ({
    inbound: {
      async execute(input, next) {
        const { workspaceId, agencyId } = (input.args[0] ?? {}) as {
          workspaceId?: string;
          agencyId?: string;
        };
        const key = keyOf(info.workflowType ?? '', workspaceId ?? agencyId ?? '');
        const started = [...(activities.get(key) ?? []), info.activityType];
        activities.set(key, started);
        const step = steps.get(key);
        if (step?.activity !== started.length) return next(input);
        const workflow = client().workflow.getHandle(info.workflowExecution?.workflowId ?? '');
        // Local activities cannot be paused.
        if (step.when === 'paused' && info.isLocal) {
          terminated.add(key);
          return next(input);
        }
        if (step.when === 'paused') {
          const target = {
            namespace: client().options.namespace,
            execution: { workflowId: workflow.workflowId },
            type: info.activityType,
            identity: 'test',
          };
          await client().workflowService.pauseActivity({ ...target, reason: 'maintenance' });
          void eventually(async () => {
            const [activity] = (await workflow.describe()).raw.pendingActivities ?? [];
            const state: number | null | undefined = activity?.state;
            return state === PAUSED;
          })
            .then(() => client().workflowService.unpauseActivity(target))
            .then(() => terminated.add(key));
          throw ApplicationFailure.create({ message: 'its worker crashed' });
        }
        const terminate = async () => {
          // Fails harmlessly if the workflow has already ended.
          const end =
            step.when === 'canceled' ? workflow.cancel() : workflow.terminate('terminated by the test');
          await end.catch(() => {});
          terminated.add(key);
        };
        if (step.when === 'after') {
          const result = await next(input);
          void eventually(async () => {
            const { raw } = await workflow.describe();
            return (raw.pendingActivities ?? []).length === 0 && !raw.pendingWorkflowTask;
          }).then(terminate, terminate);
          return result;
        }
        await terminate();
        if (step.when !== 'before') return next(input);
        throw ApplicationFailure.nonRetryable('the workflow was terminated before this activity');
      },
    },
  }));

  return {
    terminateAt: (type, owner, step) => void steps.set(keyOf(type, owner), step),
    activitiesOf: (type, owner) => activities.get(keyOf(type, owner)) ?? [],
    isDone: (type, owner) => terminated.has(keyOf(type, owner)),
    async describe(type, owner) {
      const runs: string[] = [];
      const query = `WorkflowType = '${type}' AND ${WORKSPACE_ID.name} = '${owner}'`;
      for await (const { workflowId, runId } of client().workflow.list({ query })) {
        const handle = client().workflow.getHandle(workflowId, runId);
        const { status, raw } = await handle.describe();
        const pending = (raw.pendingActivities ?? []).map(
          ({ activityType, attempt, lastFailure }) =>
            `${activityType?.name}, attempt ${attempt}: ${lastFailure?.message ?? 'has not failed'}`,
        );
        const { events } = await handle.fetchHistory();
        const last = (events ?? []).slice(-5).map((event) => describeEvent(event));
        runs.push(
          `${workflowId} ${status.name}; pending: ${pending.join('; ')}; history ends with ${last.join(', ')}`,
        );
      }
      return `${(activities.get(keyOf(type, owner)) ?? []).join(', ')}; runs: ${runs.join(' | ')}`;
    },
  };
}

/** `PENDING_ACTIVITY_STATE_PAUSED` in Temporal's API. */
const PAUSED = 4;

const keyOf = (type: string, owner: string): string => `${type} ${owner}`;

/** The type of an event, without `Attributes`, and its failure. */
function describeEvent(event: temporal.api.history.v1.IHistoryEvent): string {
  const [name = '', attributes] =
    Object.entries(event).find(([field, value]) => field.endsWith('EventAttributes') && value) ?? [];
  const failure = (attributes as { failure?: { message?: string } } | undefined)?.failure?.message;
  return name.replace('EventAttributes', '') + (failure === undefined ? '' : ` (${failure})`);
}
