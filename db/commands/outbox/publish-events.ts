import { sql } from 'slonik';
import { workspacesIn } from '#db/each-shard.ts';
import type { Pools } from '#db/pools.ts';
import { publicationsOf, type Publication } from '#db/queries/published-events.ts';
import { NoRows } from '#db/rows.ts';
import { systemDb, withSystem } from '#db/transactions.ts';

interface PublishOptions {
  /** Hears how far each workspace is published, before and after. */
  onPublished?: (publication: Publication) => void;
  mayContinue?: () => boolean;
}

/**
 * Publishes all committed events of workspaces: gives them positions, in which streams follow them
 * (docs/decisions/0009-events-have-one-order.md).
 * @throws what the first workspace failed with, after all others were published.
 */
export async function publishEvents(
  pools: Pools,
  workspaceIds: readonly string[],
  { onPublished = () => {}, mayContinue = () => true }: PublishOptions = {},
): Promise<void> {
  const failures: unknown[] = [];
  let due = workspaceIds;
  while (due.length > 0 && mayContinue()) {
    const publications = await publicationsOf(systemDb(pools), due);
    for (const publication of publications) onPublished(publication);
    const pending = publications.filter((publication) => publication.pending);
    due = [];
    for (const share of Map.groupBy(pending, (publication) => publication.share).values()) {
      const ids = share.map(({ workspaceId }) => workspaceId);
      try {
        await publishBatches(pools, ids);
        due = [...due, ...ids];
      } catch (error) {
        failures.push(error);
      }
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Publishes the next batch of each workspace, all in one transaction. */
export async function publishBatches(pools: Pools, workspaceIds: readonly string[]): Promise<void> {
  await withSystem(pools, async (db) => {
    // In one order, because each is locked until the commit.
    for (const workspaceId of workspaceIds.toSorted())
      await db.query(sql.type(NoRows)`select from publish_events(${workspaceId})`);
  });
}

/** How many workspaces one statement asks for. */
const WORKSPACES_AT_ONCE = 1000;

/** Publishes the events of all workspaces until `mayContinue` returns false, so that a stream that opens has little to wait for. */
export async function publishAllEvents(pools: Pools, mayContinue: () => boolean): Promise<void> {
  const workspaceIds = await workspacesIn(systemDb(pools), 'emitted_events');
  for (let at = 0; at < workspaceIds.length; at += WORKSPACES_AT_ONCE)
    await publishEvents(pools, workspaceIds.slice(at, at + WORKSPACES_AT_ONCE), { mayContinue });
}
