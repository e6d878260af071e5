import type { Client } from '@temporalio/client';

type HistoryEvent = NonNullable<
  Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>['events']
>[number];

/** What Temporal bills (starts, signals, activities, timers, local activities), by the name of its event's attributes. */
const BILLABLE = [
  'workflowExecutionStarted',
  'workflowExecutionSignaled',
  'activityTaskScheduled',
  'timerStarted',
  'markerRecorded',
] as const;

/** The billable actions of every workflow of the namespace so far. */
export async function actionsOf(temporal: Client): Promise<number> {
  let actions = 0;
  for await (const { workflowId, runId } of temporal.workflow.list()) {
    const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    actions += billableActions(events ?? []);
  }
  return actions;
}

export const billableActions = (events: readonly HistoryEvent[]): number =>
  events.filter((event) => BILLABLE.some((kind) => event[`${kind}EventAttributes`])).length;
