import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Client } from '@temporalio/client';
import { inject } from 'vitest';
import { findTemporalCli } from '#standalone/temporal-cli.ts';

const FOLDER = new URL('../histories/', import.meta.url);
/** Longer histories cover nothing more and take longer to replay. */
const MAX_EVENTS = 400;

interface Payloads {
  payloads?: { data?: string }[];
}

const textOf = ({ payloads = [] }: Payloads = {}): string =>
  payloads.map(({ data = '' }) => Buffer.from(data, 'base64').toString()).join();

interface History {
  events: {
    eventType: string;
    workflowExecutionStartedEventAttributes?: { continuedExecutionRunId?: string };
    workflowExecutionSignaledEventAttributes?: { input?: Payloads };
    activityTaskCompletedEventAttributes?: { result?: Payloads };
    activityTaskScheduledEventAttributes?: { activityType?: { name?: string } };
    /** The result of a local activity. */
    markerRecordedEventAttributes?: { details?: { result?: Payloads } };
  }[];
}
type Event = History['events'][number];

/** What an activity returned; empty: the event is another one. */
const resultOf = ({
  activityTaskCompletedEventAttributes: done,
  markerRecordedEventAttributes: marker,
}: Event): string => textOf((done ?? marker?.details)?.result);

/** Paths that only some histories of a workflow type take. */
export const PATHS: Record<string, (event: Event) => boolean> = {
  continuing: ({ workflowExecutionStartedEventAttributes: start }) => Boolean(start?.continuedExecutionRunId),
  continued: ({ eventType }) => eventType === 'EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
  canceled: ({ eventType }) => eventType === 'EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED',
  refused: ({ eventType }) => eventType === 'EVENT_TYPE_ACTIVITY_TASK_FAILED',
  lost: ({ activityTaskScheduledEventAttributes: task }) => task?.activityType?.name === 'endLostRounds',
  unserved: ({ eventType }) => eventType === 'EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT',
  updated: ({ eventType }) => eventType === 'EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
  goesOn: (event) => resultOf(event).includes('"goesOn":true'),
  blocked: (event) => resultOf(event).includes('"isBlocked":true'),
  released: (event) => resultOf(event).includes('"releases":true'),
  rewritten: (event) => resultOf(event).includes('"isRetrying":true'),
  keptOpen: (event) => resultOf(event).includes('"keepsOpen":true'),
  // By an operator: a signal of the product has no argument, or says that its change is committed.
  signaled: ({ workflowExecutionSignaledEventAttributes: signal }) =>
    !['', '{"committed":true}'].includes(textOf(signal?.input)),
};

/**
 * With `SAVE_HISTORIES=1`, saves the histories of a test's workflows for the replay test: the longest of each type
 * up to `MAX_EVENTS`, and the shortest that takes each of the paths.
 */
export async function saveHistories(client: Client): Promise<void> {
  if (process.env['SAVE_HISTORIES'] !== '1') return;
  const program = await findTemporalCli(() => {});
  for await (const { workflowId, runId, type } of client.workflow.list()) {
    const run = ['--workflow-id', workflowId, '--run-id', runId, '--output', 'json'];
    const server = ['--address', inject('temporalAddress'), '--namespace', client.options.namespace];
    const { stdout } = await promisify(execFile)(program, ['workflow', 'show', ...run, ...server], {
      maxBuffer: 64 * 2 ** 20,
    });
    const history = JSON.parse(stdout) as History;
    const { length } = history.events;
    if (length > MAX_EVENTS) continue;
    if (length > (savedLength(`${type}.json`) ?? 0)) save(`${type}.json`, history);
    for (const [path, isTaken] of Object.entries(PATHS)) {
      const name = `${type}.${path}.json`;
      if (history.events.some(isTaken) && length < (savedLength(name) ?? Infinity)) save(name, history);
    }
  }
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Stack traces of failures name files by their path in the repository. */
const save = (name: string, history: History): void =>
  writeFileSync(new URL(name, FOLDER), `${JSON.stringify(history, null, 1).replaceAll(ROOT, '')}\n`);

function savedLength(name: string): number | null {
  const file = new URL(name, FOLDER);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as History).events.length : null;
}
