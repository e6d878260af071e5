import { grantFor, lockBilling } from '#db/queries/lines/line-requests.ts';
import { withTenant } from '#db/connection/transactions.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import type { Channel } from '#domain/base/channel.ts';
import { isUnlimited } from '#domain/accounts/key-scope.ts';
import { AGENCY_LIMITS, LimitReached } from '#domain/accounts/limits.ts';
import { ApiError } from '#api/http/errors.ts';
import { RateLimited } from '#api/http/rate-limits.ts';
import type { Services } from '#api/services.ts';

const PER_DAY = { requests: AGENCY_LIMITS.paidLineRequests.max, seconds: 86_400 };

/**
 * Requires that the caller may spend money, and counts the request, if a line of this channel would cost extra. Counts over all
 * workspaces of an agency.
 * @throws ADMIN_REQUIRED, INSUFFICIENT_SCOPE, LimitReached
 */
export async function checkPaidRequest(
  { workspace, ...caller }: WorkspaceCaller,
  channel: Channel,
  { pools, rateLimits }: Pick<Services, 'pools' | 'rateLimits'>,
): Promise<void> {
  const grant = await withTenant(pools, workspace.id, async (db) => {
    const billing = await lockBilling(db);
    return grantFor(db, billing, channel);
  });
  if (grant === null || grant === 'included') return;
  requireBuyer(caller);
  await rateLimits
    .consume('paidLineRequests', workspace.agencyId ?? workspace.id, PER_DAY)
    .catch((error: unknown) => {
      if (!(error instanceof RateLimited)) throw error;
      throw new LimitReached('paidLineRequests', Number(error.headers['Retry-After']));
    });
}

function requireBuyer({ key, role, isOfAgency }: Pick<WorkspaceCaller, 'key' | 'role' | 'isOfAgency'>): void {
  if (key === null) {
    if (!isOfAgency && role !== 'org:admin') throw new ApiError('ADMIN_REQUIRED');
    return;
  }
  if (isUnlimited(key)) return;
  const text = 'A line that costs extra needs a key with all scopes, without an expiry and allowed addresses';
  throw new ApiError('INSUFFICIENT_SCOPE', text, { required: 'manage' });
}
