import type { Client } from '@temporalio/client';

type HistoryEvent = NonNullable<
  Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>['events']
>[number];

/** What Temporal bills, by the name of its event's attributes. */
const BILLABLE = [
  'workflowExecutionStarted',
  'workflowExecutionSignaled',
  'workflowExecutionUpdateAccepted',
  'upsertWorkflowSearchAttributes',
  'activityTaskScheduled',
  'timerStarted',
  'markerRecorded',
] as const;

/** A patch leaves a marker and a search attribute, and neither is billed. */
function isPatch({
  markerRecordedEventAttributes: marker,
  upsertWorkflowSearchAttributesEventAttributes: upsert,
}: HistoryEvent): boolean {
  return (
    marker?.markerName === 'core_patch' ||
    upsert?.searchAttributes?.indexedFields?.['TemporalChangeVersion'] !== undefined
  );
}

/** The actions in a history. Heartbeats, which are billed too, are in none. */
export const billableActions = (events: readonly HistoryEvent[]): number =>
  events.filter((event) => BILLABLE.some((kind) => event[`${kind}EventAttributes`]) && !isPatch(event))
    .length;
