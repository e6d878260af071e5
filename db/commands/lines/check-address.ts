import { currentTime } from '#domain/base/clock.ts';
import type { AvailabilityResult, AvailabilityStatus } from '#domain/lines/availability.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { isKnownAvailable, cacheAvailable, reserveCheck } from '#db/queries/lines/availability.ts';
import { findLine, type LineRow } from '#db/queries/lines/lines.ts';
import type { Pools } from '#db/connection/pools.ts';
import { withTenant } from '#db/connection/transactions.ts';

/** Checks an address at a line's carrier. */
export type AskCarrier = (line: LineRow, address: string) => Promise<AvailabilityStatus>;

/**
 * Whether an address has iMessage, by one of a line's daily checks. The carrier is called outside of any transaction.
 * @param options.cached a positive result of the last 24 hours is enough, and takes no check.
 */
export async function checkAddress(
  pools: Pools,
  workspace: { id: string; timezone: string },
  address: string,
  ask: AskCarrier,
  { cached = false, now = currentTime() }: { cached?: boolean; now?: Date } = {},
): Promise<AvailabilityResult> {
  const taken = await withTenant(pools, workspace.id, async (db) => {
    if (cached && (await isKnownAvailable(db, contactKey(address)))) return 'known';
    const check = await reserveCheck(db, workspace.timezone, now);
    return typeof check === 'string' ? check : ((await findLine(db, check.lineId)) ?? 'no_healthy_line');
  });
  if (taken === 'known') return { status: 'available', lineId: null };
  if (typeof taken === 'string') return { status: 'error', lineId: null, unverified: taken };
  const status = await ask(taken, address).catch((): AvailabilityStatus => 'error');
  if (status === 'available')
    await withTenant(pools, workspace.id, (db) => cacheAvailable(db, contactKey(address), now));
  return { status, lineId: taken.id };
}
