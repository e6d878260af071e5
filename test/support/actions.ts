import type { Client } from '@temporalio/client';

type HistoryEvent = NonNullable<
  Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>['events']
>[number];

/** The events that Temporal bills as actions, by the names of their attributes. */
const BILLABLE = [
  'workflowExecutionStarted',
  'workflowExecutionSignaled',
  'workflowExecutionUpdateAccepted',
  'upsertWorkflowSearchAttributes',
  'activityTaskScheduled',
  'timerStarted',
  'markerRecorded',
] as const;

/** A patch adds a marker and a search attribute, which are not billed. */
function isPatch({
  markerRecordedEventAttributes: marker,
  upsertWorkflowSearchAttributesEventAttributes: upsert,
}: HistoryEvent): boolean {
  return (
    marker?.markerName === 'core_patch' ||
    upsert?.searchAttributes?.indexedFields?.['TemporalChangeVersion'] !== undefined
  );
}

/** The number of billable actions in a history. Heartbeats are also billed, but do not appear in histories. */
export const billableActions = (events: readonly HistoryEvent[]): number =>
  events.filter((event) => BILLABLE.some((kind) => event[`${kind}EventAttributes`]) && !isPatch(event))
    .length;
