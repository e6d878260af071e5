import type { Client } from '@temporalio/client';
import { dataConverter } from '#providers/payload-codec.ts';
import { WORKFLOWS } from '#workflows/protocol/workflow-ids.ts';
import { type Command, Refused, type Session, WrongUsage } from './ops-command.ts';
import { bundleWorkflows } from './workflow-bundle.ts';

/** Of each type, without `--query`. */
const SAMPLE = 100;
const LIMIT = 1000;
/** Of all workflows. */
export const TYPES = [
  ...new Set(Object.values(WORKFLOWS).map(({ type }) => type)),
  'housekeeping',
  'polledRounds',
  'retention',
  'sweep',
];
const openOf = (type: string): string => `WorkflowType = '${type}' AND ExecutionStatus = 'Running'`;
/** Enough to see a pattern. */
const FAILURES_SHOWN = 20;

type ReplaySession = Pick<Session, 'client' | 'codecKeys'>;

/**
 * Replays the histories of open workflows with the workflows of this build. A history that does not replay is a workflow
 * whose tasks would fail on this build. Temporal and the workflows stay as they are.
 */
export const replay: Command = {
  argument: null,
  options: '[--query QUERY] [--limit COUNT]',
  summary: 'checks that the workflows of this build can continue those that are open; before `release`',
  timeoutMs: null,
  async run(session, _id, { query, limit }) {
    const most = limit === undefined ? null : Number(limit);
    if (most !== null && (!Number.isInteger(most) || most < 1))
      throw new WrongUsage('--limit must be a whole number from 1');
    const found =
      query === undefined
        ? samples(session.client, SAMPLE, most ?? Infinity)
        : histories(session.client, query, most ?? LIMIT);
    return { replayed: await requireReplay(session, found), failed: 0 };
  },
};

/**
 * Replays some open workflows of each type with the workflows of this build.
 * @returns how many were replayed.
 * @throws Refused if one cannot continue.
 */
export const replaySample = (session: ReplaySession, ofEach: number): Promise<number> =>
  requireReplay(session, samples(session.client, ofEach, Infinity));

async function requireReplay(session: ReplaySession, found: AsyncIterable<WorkflowHistory>): Promise<number> {
  const { replayed, failures } = await replayHistories(session, found);
  if (failures.length > 0)
    throw new Refused(
      'INCOMPATIBLE',
      `${failures.length} of ${replayed} workflows cannot continue on this build: do not release it`,
      failures.slice(0, FAILURES_SHOWN),
    );
  return replayed;
}

async function replayHistories({ codecKeys }: ReplaySession, found: AsyncIterable<WorkflowHistory>) {
  // Loaded only for this command, because it starts the SDK's native part.
  const { Worker } = await import('@temporalio/worker');
  const options = {
    workflowBundle: await bundleWorkflows(codecKeys),
    dataConverter: dataConverter(codecKeys),
  };
  let replayed = 0;
  const failures: { workflowId: string; runId: string; error: string }[] = [];
  for await (const { workflowId, runId, error } of Worker.runReplayHistories(options, found)) {
    replayed += 1;
    if (error) failures.push({ workflowId, runId, error: error.message });
  }
  return { replayed, failures };
}

/** Some open workflows of each type: a step that cannot replay is taken by one type alone, which may be rare. */
async function* samples(client: Client, ofEach: number, limit: number) {
  let left = limit;
  for (const type of TYPES)
    for await (const found of histories(client, openOf(type), Math.min(ofEach, left))) {
      yield found;
      left -= 1;
      if (left === 0) return;
    }
}

interface WorkflowHistory {
  workflowId: string;
  history: Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;
}

async function* histories(client: Client, query: string, limit: number) {
  let count = 0;
  for await (const { workflowId, runId } of client.workflow.list({ query })) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    // A workflow that no worker has run yet fits every build. The SDK never ends the replay of one whose start is delayed.
    if (!history.events?.some((event) => event.workflowTaskCompletedEventAttributes)) continue;
    yield { workflowId, history };
    count += 1;
    if (count === limit) return;
  }
}
