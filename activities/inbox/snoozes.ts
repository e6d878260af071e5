import { endedSnoozes, endSnoozes } from '#db/commands/inbox/conversation-changes.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { currentTime } from '#domain/base/clock.ts';
import type { Dependencies } from '../dependencies.ts';

/** Conversations of one sweep; the next continues. */
const AT_ONCE = 1000;
const BUDGET_MS = 10_000;

/**
 * Opens conversations whose snooze is over, so that webhooks and event streams get an event. Reads already show them as open
 * before.
 */
export async function endDueSnoozes({
  pools,
  logger,
}: Pick<Dependencies, 'pools' | 'logger'>): Promise<void> {
  const until = Date.now() + BUDGET_MS;
  const found = await endedSnoozes(systemDb(pools), AT_ONCE);
  for (const [workspaceId, rows] of Map.groupBy(found, (row) => row.workspaceId)) {
    if (Date.now() > until) return;
    const addresses = rows.map(({ address }) => address);
    try {
      await withTenant(pools, workspaceId, (db) => endSnoozes(db, addresses, currentTime()));
    } catch (error) {
      logger.error({ workspaceId, error }, 'snoozes cannot be ended');
    }
  }
}
