import { sql } from 'slonik';
import { z } from 'zod';
import { Refusal } from '#domain/base/refusal.ts';
import { acceptsSends, BillingMode, isPastDue, SubscriptionStatus } from '#domain/billing/entitlement.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const WorkspaceRow = z.object({
  liveWorkspaceId: z.string().nullable(),
  subscriptionStatus: SubscriptionStatus,
  billingMode: BillingMode,
  suspended: z.boolean(),
});
type Workspace = z.infer<typeof WorkspaceRow>;

/**
 * Requires that the workspace may be changed.
 * @throws Refusal: WORKSPACE_SUSPENDED, READ_ONLY
 */
export async function requireWritable(db: TenantDb): Promise<Workspace> {
  const workspace = await db.one(sql.type(WorkspaceRow)`
    select live_workspace_id, subscription_status, current_billing_mode() billing_mode, suspended_at is not null suspended
    from workspaces where id = ${db.workspaceId}`);
  if (workspace.suspended) throw new Refusal('WORKSPACE_SUSPENDED');
  if (isPastDue(workspace)) throw new Refusal('READ_ONLY', null, null, { reason: 'past_due' });
  return workspace;
}

/**
 * Requires that the workspace accepts what is to be sent.
 * @throws Refusal: WORKSPACE_SUSPENDED, READ_ONLY, SUBSCRIPTION_REQUIRED
 */
export async function requireSending(db: TenantDb): Promise<Workspace> {
  const workspace = await requireWritable(db);
  if (!acceptsSends(workspace)) throw new Refusal('SUBSCRIPTION_REQUIRED');
  return workspace;
}
