import type { Caller } from '#domain/accounts/caller.ts';
import { UNSUBSCRIBED_KB_PER_DAY } from '#domain/accounts/limits.ts';
import { hasSubscription } from '#domain/billing/entitlement.ts';
import type { Services } from '../services.ts';

const LIMIT = { requests: UNSUBSCRIBED_KB_PER_DAY, seconds: 86_400 };

/**
 * Counts what a workspace without a subscription changes. Handlers count what one request changes beyond the point that the request
 * itself costs: each lead or delivery has an event or a row of its own.
 * @param points kilobytes of a body, or objects.
 * @throws RATE_LIMITED
 */
export async function chargeUnsubscribed(
  { rateLimits }: Pick<Services, 'rateLimits'>,
  caller: Caller,
  points: number,
): Promise<void> {
  if (points > 0 && caller.kind === 'workspace' && !hasSubscription(caller.workspace))
    await rateLimits.consume('unsubscribed', caller.workspace.id, LIMIT, points);
}
