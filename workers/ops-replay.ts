import type { Client } from '@temporalio/client';
import { dataConverter } from '#providers/payload-codec.ts';
import { type Command, Refused, type Session, WrongUsage } from './ops-command.ts';
import { bundleWorkflows } from './workflow-bundle.ts';

const OPEN = "ExecutionStatus = 'Running'";
const LIMIT = 1000;
/** Enough to see a pattern. */
const FAILURES_SHOWN = 20;

/**
 * Replays the histories of open workflows with the workflows of this build. A history that does not replay is a workflow
 * whose tasks would fail on this build. Temporal and the workflows stay as they are.
 */
export const replay: Command = {
  argument: null,
  options: '[--query QUERY] [--limit COUNT]',
  summary: 'checks that the workflows of this build can continue those that are open; before `release`',
  timeoutMs: null,
  async run(session, _id, { query = OPEN, limit = String(LIMIT) }) {
    const count = Number(limit);
    if (!Number.isInteger(count) || count < 1) throw new WrongUsage('--limit must be a whole number from 1');
    const { replayed, failures } = await replayHistories(session, query, count);
    if (failures.length > 0)
      throw new Refused(
        'INCOMPATIBLE',
        `${failures.length} of ${replayed} workflows cannot continue on this build: do not release it`,
        failures.slice(0, FAILURES_SHOWN),
      );
    return { replayed, failed: 0 };
  },
};

async function replayHistories({ client, codecKeys }: Session, query: string, limit: number) {
  // Loaded only for this command, because it starts the SDK's native part.
  const { Worker } = await import('@temporalio/worker');
  const options = {
    workflowBundle: await bundleWorkflows(codecKeys),
    dataConverter: dataConverter(codecKeys),
  };
  let replayed = 0;
  const failures: { workflowId: string; runId: string; error: string }[] = [];
  for await (const { workflowId, runId, error } of Worker.runReplayHistories(
    options,
    histories(client, query, limit),
  )) {
    replayed += 1;
    if (error) failures.push({ workflowId, runId, error: error.message });
  }
  return { replayed, failures };
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
