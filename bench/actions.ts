import type { Client } from '@temporalio/client';

type HistoryEvent = NonNullable<
  Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>['events']
>[number];

/**
 * The events that Temporal bills, by the name of their attributes: starts, signals, updates, activities, timers, changes
 * of search attributes, and markers, which stand for local activities and patches.
 */
const BILLABLE = [
  'workflowExecutionStarted',
  'workflowExecutionSignaled',
  'workflowExecutionUpdateAccepted',
  'upsertWorkflowSearchAttributes',
  'activityTaskScheduled',
  'timerStarted',
  'markerRecorded',
] as const;

/** Counts the billable actions of every workflow in the namespace so far. */
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
