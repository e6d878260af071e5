import { setTimeout as pause } from 'node:timers/promises';
import { lineHealth, readTop, requestProbe } from '#db/queries/operations/top.ts';
import { findLineOwner } from '#db/queries/accounts/workspaces.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { wakesOf } from '#db/wakes/wakes.ts';
import { findFailingTask, restartWorkflow } from '#providers/failing-tasks.ts';
import { type Command, orderCommand, Refused, type Session, WrongUsage } from './ops-command.ts';
import { failingNow } from './release-gate.ts';
import { startSweep } from './schedules.ts';

const LISTED = 10;
const MAX_LISTED = 1000;

function countOf(given: string | undefined, fallback: number): number {
  const count = Number(given ?? fallback);
  if (!Number.isInteger(count) || count < 1 || count > MAX_LISTED)
    throw new WrongUsage(`--limit must be a number from 1 to ${MAX_LISTED}`);
  return count;
}

export const top: Command = {
  argument: null,
  options: '[--limit COUNT]',
  summary:
    'whose messages are due, whose attempts and webhooks have failed in the last hour, whose drips wait, and which lines send nothing',
  needsTemporal: false,
  run: ({ pools }, _id, { limit }) => readTop(systemDb(pools), countOf(limit, LISTED)),
};

/** Longer than a probe takes. Workers of the former release probe in their next round, every minute. */
const PROBED_WITHIN_MS = 150_000;
const LOOK_EVERY_MS = 1000;

export const probe: Command = {
  argument: 'LINE_ID',
  summary: 'the workers ask the carrier of a line about it; prints the answer',
  async run({ client, pools }, lineId) {
    const db = systemDb(pools);
    const owner = await findLineOwner(db, lineId);
    if (!owner) throw new Refused('NOT_FOUND', `There is no line ${lineId}`);
    const { workspaceId } = owner;
    const before = await lineHealth(db, workspaceId, lineId);
    if (!before?.isProbed)
      throw new Refused('INVALID_STATE', 'The line is not active, or not connected to a carrier');
    await requestProbe(db, workspaceId, lineId);
    await startSweep(client, `probe-by-operator:${lineId}`, { carriers: [owner.carrier] });
    const end = performance.now() + PROBED_WITHIN_MS;
    while (performance.now() < end) {
      await pause(LOOK_EVERY_MS);
      const health = await lineHealth(db, workspaceId, lineId);
      if (health?.checkedAt) {
        const { status, checkedAt, reason } = health;
        return { lineId, workspaceId, carrier: owner.carrier, status, checkedAt, reason };
      }
    }
    throw new Refused(
      'UNAVAILABLE',
      'No worker has probed the line: is one running that serves its carrier?',
    );
  },
};

/** More are restarted by running the command again. */
const RESTARTED = 1000;

export const restart: Command = {
  ...orderCommand({
    argument: null,
    options: '[--query QUERY] [--limit COUNT] [--yes]',
    summary:
      'starts workflows anew: those that are overdue because their tasks fail, or those of a query of Temporal; without --yes, only says how many',
    async run(session, _id, { by, reason }, { query, limit, yes }) {
      const most = countOf(limit, RESTARTED);
      const ids = query === undefined ? await failingIds(session) : await queried(session, query, most);
      // Only long-lived workflows have a row, and can be started from it.
      const known = (await wakesOf(systemDb(session.pools), ids)).slice(0, most);
      if (yes !== true)
        return { toBeRestarted: known.length, dryRun: true, workflows: known.slice(0, LISTED) };
      const why = `started anew by ${by}${reason === undefined ? '' : ` (${reason})`}`;
      for (const workflow of known) {
        // Those that others have healed meanwhile go on.
        if (query === undefined && !(await findFailingTask(session.client, workflow.workflowId, 2))) continue;
        await restartWorkflow(session.client, workflow, why);
      }
      return { restarted: known.length };
    },
  }),
  timeoutMs: null,
};

const failingIds = async ({ client, pools }: Session): Promise<string[]> =>
  (await failingNow(client, systemDb(pools))).map(({ workflowId }) => workflowId);

async function queried({ client }: Session, query: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({
    query: `(${query}) AND ExecutionStatus = 'Running'`,
  })) {
    ids.push(workflowId);
    if (ids.length === limit) break;
  }
  return ids;
}
