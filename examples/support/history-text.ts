import type { WorkflowHandle } from '@temporalio/client';

/** Formats a workflow's history as text, with one line per event that operators see in the Temporal UI. */

export type Events = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>;
type Event = Events[number];
interface Payload {
  data?: Uint8Array | null;
}
interface Payloads {
  payloads?: Payload[] | null;
}

/** The workflow's current details at a time. They are not part of the history. */
export interface Shown {
  at: Date;
  details: string;
}

interface Line {
  kind: string;
  text: string;
}

/** Omits workflow tasks, which are internal to Temporal. */
export function historyText(events: Events, shown: readonly Shown[] = []): string {
  const byId = new Map(events.map((event) => [Number(event.eventId), event]));
  const [first] = events;
  const lines = [
    ...events.flatMap((event) => {
      const line = lineOf(event, (id) => byId.get(Number(id)));
      return line ? [{ at: timeOf(event), ...line }] : [];
    }),
    ...shown.map(({ at, details }) => ({ at: at.getTime(), kind: '', text: `“${details}”` })),
  ].toSorted((a, b) => a.at - b.at);
  return lines
    .map(({ at, kind, text }) => {
      const seconds = ((at - (first ? timeOf(first) : 0)) / 1000).toFixed(1);
      return `${seconds.padStart(6)} s  ${kind.padEnd(8)}  ${text}`;
    })
    .join('\n');
}

type Find = (eventId: unknown) => Event | undefined;

function lineOf(event: Event, find: Find): Line | null {
  const {
    workflowExecutionStartedEventAttributes: started,
    workflowExecutionSignaledEventAttributes: signaled,
    workflowExecutionUpdateAcceptedEventAttributes: accepted,
    workflowExecutionUpdateCompletedEventAttributes: updated,
    upsertWorkflowSearchAttributesEventAttributes: changed,
    timerStartedEventAttributes: timer,
    timerFiredEventAttributes: fired,
    workflowExecutionCompletedEventAttributes: completed,
    workflowExecutionFailedEventAttributes: failed,
  } = event;
  if (started) return { kind: 'started', text: started.workflowType?.name ?? '' };
  if (signaled)
    return { kind: 'signal', text: `${signaled.signalName ?? ''} ${first(signaled.input)}`.trim() };
  if (accepted) return { kind: 'update', text: requestOf(accepted.acceptedRequest?.input) };
  if (updated) return { kind: 'verdict', text: outcomeOf(updated.outcome) };
  if (changed) return stateOf(changed.searchAttributes?.indexedFields);
  if (timer)
    return { kind: 'timer', text: `${spanOf(timer.startToFireTimeout?.seconds)}: ${summaryOf(event)}` };
  if (fired) return { kind: 'timer', text: `fired: ${summaryOf(find(fired.startedEventId))}` };
  if (completed) return { kind: 'result', text: first(completed.result) };
  if (failed) return { kind: 'failed', text: failed.failure?.message ?? '' };
  return localActivityLine(event) ?? activityLine(event, find);
}

/** An activity that ran within the workflow task. */
function localActivityLine({ markerRecordedEventAttributes: marker }: Event): Line | null {
  if (marker?.markerName !== 'core_local_activity') return null;
  const { activity_type: name } = JSON.parse(first(marker.details?.['data'])) as { activity_type: string };
  const result = marker.failure?.message ?? reasonOf(first(marker.details?.['result']));
  return { kind: 'in task', text: `${name} → ${result}` };
}

function activityLine(event: Event, find: Find): Line | null {
  const { activityTaskCompletedEventAttributes: done, activityTaskFailedEventAttributes: failed } = event;
  const scheduled = find((done ?? failed)?.scheduledEventId);
  const name = scheduled?.activityTaskScheduledEventAttributes?.activityType?.name;
  if (!scheduled || !name) return null;
  const result = done ? reasonOf(first(done.result)) : `refused: ${failed?.failure?.message ?? ''}`;
  return { kind: 'activity', text: `${name}, “${summaryOf(scheduled)}”${result && ` → ${result}`}` };
}

/** The reason in the result of a round; any other result unchanged. */
function reasonOf(result: string): string {
  return /"reason":"([^"]*)"/.exec(result)?.[1] ?? result;
}

function requestOf(input: { name?: string | null; args?: Payloads | null } | null | undefined): string {
  return `${input?.name ?? ''} ${first(input?.args)}`;
}

const outcomeOf = (
  outcome: { success?: Payloads | null; failure?: { message?: string | null } | null } | null | undefined,
): string => outcome?.failure?.message ?? first(outcome?.success);

/** Only the attribute `State`, because the others never change. */
function stateOf(fields: Record<string, Payload> | null | undefined): Line | null {
  const state = fields?.['State'];
  return state ? { kind: 'state', text: textOf(state) } : null;
}

const summaryOf = (event: Event | undefined): string => textOf(event?.userMetadata?.summary);
const first = (values: Payloads | null | undefined): string => textOf(values?.payloads?.[0]);

/** Strings unquoted, anything else as JSON. */
function textOf(payload: Payload | null | undefined): string {
  const json = Buffer.from(payload?.data ?? []).toString('utf8');
  if (json === '') return '';
  const value: unknown = JSON.parse(json);
  return typeof value === 'string' ? value : json;
}

function timeOf({ eventTime }: Event): number {
  return Number(eventTime?.seconds ?? 0) * 1000 + Math.floor((eventTime?.nanos ?? 0) / 1e6);
}

function spanOf(value: unknown): string {
  const seconds = Number(value ?? 0);
  if (seconds >= 86_400) return `${seconds / 86_400} day`;
  if (seconds >= 7200) return `${Math.round(seconds / 3600)} hours`;
  return seconds >= 120 ? `${Math.round(seconds / 60)} minutes` : `${seconds} s`;
}
