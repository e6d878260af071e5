import { sql } from 'slonik';
import { z } from 'zod';
import { workspacesIn } from '#db/queries/operations/workspaces-in.ts';
import type { Pools } from '#db/connection/pools.ts';
import { publicationsOf } from '#db/queries/events/published-events.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb, withSystem } from '#db/connection/transactions.ts';

const BatchRow = z.object({
  /** Of the last published event. */
  position: z.int(),
  /** Whether some of a backlog is left. */
  more: z.boolean(),
});

/** How far a workspace is published. */
export interface Published extends z.infer<typeof BatchRow> {
  workspaceId: string;
}

interface PublishOptions {
  /** Called for each workspace that fails. */
  onFailure: (error: unknown) => void;
  statementTimeoutMs?: number;
}

/** Their rows are locked until the commit, so there are not many in a transaction. */
const WORKSPACES_IN_TRANSACTION = 20;

/**
 * Publishes the committed events of workspaces, of a backlog the next batch: gives them positions, in which streams follow
 * them (docs/decisions/0009-events-have-one-order.md).
 * @returns how far they are published, without those that fail.
 */
export async function publishEvents(
  pools: Pools,
  workspaceIds: readonly string[],
  options: PublishOptions,
): Promise<Published[]> {
  const publications = await publicationsOf(systemDb(pools), workspaceIds);
  const published = publications
    .filter(({ pending }) => !pending)
    .map(({ workspaceId, position }) => ({ workspaceId, position, more: false }));
  const ids = publications
    .filter(({ pending }) => pending)
    .map(({ workspaceId }) => workspaceId)
    .toSorted();
  for (let at = 0; at < ids.length; at += WORKSPACES_IN_TRANSACTION)
    published.push(...(await publishTogether(pools, ids.slice(at, at + WORKSPACES_IN_TRANSACTION), options)));
  return published;
}

/** In one transaction; if that fails, each by itself. */
async function publishTogether(
  pools: Pools,
  workspaceIds: readonly string[],
  options: PublishOptions,
): Promise<Published[]> {
  try {
    return await publishBatches(pools, workspaceIds, options.statementTimeoutMs);
  } catch (error) {
    if (workspaceIds.length === 1) {
      options.onFailure(error);
      return [];
    }
  }
  const published: Published[] = [];
  for (const workspaceId of workspaceIds)
    published.push(...(await publishTogether(pools, [workspaceId], options)));
  return published;
}

/**
 * Publishes the next batch of each workspace.
 * @param workspaceIds sorted, because each is locked until the commit.
 */
export async function publishBatches(
  pools: Pools,
  workspaceIds: readonly string[],
  statementTimeoutMs?: number,
): Promise<Published[]> {
  return withSystem(pools, async (db) => {
    if (statementTimeoutMs !== undefined)
      await db.query(sql.type(NoRows)`select set_local('statement_timeout', ${String(statementTimeoutMs)})`);
    const published: Published[] = [];
    for (const workspaceId of workspaceIds) {
      const batch = await db.one(
        sql.type(BatchRow)`select position, more from publish_events(${workspaceId})`,
      );
      published.push({ workspaceId, ...batch });
    }
    return published;
  });
}

/** How many workspaces one statement asks for. */
const WORKSPACES_AT_ONCE = 1000;
/** After a restore, a workspace has a day of events to compare with those published. */
const STATEMENT_TIMEOUT_MS = 180_000;

/**
 * Publishes the events of all workspaces until `mayContinue` returns false, so that a stream that opens has little to wait for.
 * @throws what the first workspace failed with, after all others were published.
 */
export async function publishAllEvents(pools: Pools, mayContinue: () => boolean): Promise<void> {
  const failures: unknown[] = [];
  const options = {
    onFailure: (error: unknown) => void failures.push(error),
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  };
  let due = await workspacesIn(systemDb(pools), 'emitted_events');
  while (due.length > 0 && mayContinue()) {
    const left: string[] = [];
    for (let at = 0; at < due.length && mayContinue(); at += WORKSPACES_AT_ONCE) {
      const published = await publishEvents(pools, due.slice(at, at + WORKSPACES_AT_ONCE), options);
      left.push(...published.filter(({ more }) => more).map(({ workspaceId }) => workspaceId));
    }
    due = left;
  }
  if (failures.length > 0) throw failures[0];
}
