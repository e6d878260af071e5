import type { ApiPools } from '#db/connection/pools.ts';
import { dryRun, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { bulkItems, insertBulkChanges, takeBulkChanges } from '#db/queries/base/bulk-changes.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { type BulkResult, type Changed, MAX_BULK, type Skipped, UNDO_MS } from '#domain/base/bulk.ts';
import { newId } from '#domain/base/ids.ts';
import type { Services } from '../services.ts';
import { ApiError } from './errors.ts';
import { chargeUnsubscribed } from './unsubscribed.ts';

/** Items changed in one transaction, so that their locks are held briefly. */
const CHUNK = 100;

interface Outcome {
  changed: readonly Changed<unknown>[];
  skipped: readonly Skipped[];
}
type Work = (db: TenantDb, items: readonly string[]) => Promise<Outcome>;
type Context = Pick<Services, 'pools' | 'logger' | 'rateLimits'> & { caller: WorkspaceCaller; now: Date };

/**
 * Changes items in chunks, each in a transaction. If one fails after others are committed, the response says what was not done.
 * @param items one more than may be changed means that there are more.
 * @param options.events how many events the change of an item has at most.
 */
export async function changeInChunks(
  context: Context,
  found: readonly string[],
  { dry, canUndo, events = 1 }: { dry: boolean; canUndo: boolean; events?: number },
  work: Work,
): Promise<BulkResult> {
  const { pools, caller, now } = context;
  const items = [...new Set(found.slice(0, MAX_BULK))];
  const hasMore = found.length > MAX_BULK;
  if (dry) {
    const outcome = await withTenant(pools, caller.workspace.id, (db) =>
      dryRun(db, (inner) => work(inner, items)),
    );
    return resultOf(outcome, { dryRun: true, hasMore, undo: null });
  }
  await chargeUnsubscribed(context, caller, items.length * events);
  const undo = { id: newId(now), actor: caller.actor, until: new Date(now.getTime() + UNDO_MS) };
  const outcome = await inChunks(context, items, async (db, chunk) => {
    const done = await work(db, chunk);
    if (canUndo) await insertBulkChanges(db, undo, done.changed);
    return done;
  });
  const offered = canUndo && outcome.changed.length > 0;
  return resultOf(outcome, {
    dryRun: false,
    hasMore,
    undo: offered ? { id: undo.id, until: undo.until.toISOString() } : null,
  });
}

/** @throws NOT_FOUND if the caller made no such change, or it can no longer be undone. */
export async function undoInChunks(
  context: Context,
  id: string,
  restore: (db: TenantDb, changes: ReadonlyMap<string, Changed<unknown>>) => Promise<Outcome>,
): Promise<BulkResult> {
  const { pools, caller, now } = context;
  const items = await withTenant(pools, caller.workspace.id, (db) =>
    bulkItems(db, id, { actor: caller.actor, now }),
  );
  const none = new ApiError('NOT_FOUND', 'There is no such change that can be undone');
  if (items.length === 0) throw none;
  await chargeUnsubscribed(context, caller, items.length);
  const outcome = await inChunks(context, items, async (db, chunk) => {
    const changes = await takeBulkChanges(db, id, chunk);
    return changes.size === 0 ? { changed: [], skipped: [] } : restore(db, changes);
  });
  const result = resultOf(outcome, { dryRun: false, hasMore: false, undo: null });
  // Another request has undone it since.
  if (result.matched === 0) throw none;
  return result;
}

async function inChunks(
  { pools, caller, logger }: Pick<Context, 'caller' | 'logger'> & { pools: ApiPools },
  items: readonly string[],
  work: Work,
): Promise<Outcome> {
  // In one order, so that concurrent requests do not deadlock.
  const ordered = items.toSorted();
  const changed: Changed<unknown>[] = [];
  const skipped: Skipped[] = [];
  for (let start = 0; start < ordered.length; start += CHUNK) {
    const chunk = ordered.slice(start, start + CHUNK);
    try {
      const done = await withTenant(pools, caller.workspace.id, (db) => work(db, chunk));
      changed.push(...done.changed);
      skipped.push(...done.skipped);
    } catch (error) {
      if (start === 0) throw error;
      logger.warn({ err: error, workspaceId: caller.workspace.id }, 'a bulk change was not completed');
      skipped.push(...ordered.slice(start).map((item) => ({ item, reason: 'not_done' as const })));
      break;
    }
  }
  return { changed, skipped };
}

const resultOf = (
  { changed, skipped }: Outcome,
  rest: Pick<BulkResult, 'dryRun' | 'hasMore' | 'undo'>,
): BulkResult => ({
  success: true,
  ...rest,
  matched: changed.length + skipped.length,
  changed: changed.length,
  skipped: [...skipped],
});
