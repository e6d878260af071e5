import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { type BillingMode, type Plan, SUSPENDED } from '#domain/billing/entitlement.ts';
import {
  CardDeclined,
  NoSuchSubscription,
  type PaymentProvider,
  type Subscription,
} from '#domain/billing/payments.ts';
import { lineRequestId } from '#workflows/protocol/workflow-ids.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { findAwaitingPayment, lockBilling } from '#db/queries/lines/line-requests.ts';
import { notify } from '#db/commands/events/notifications.ts';
import type { Pools } from '#db/connection/pools.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { wakeAllLines } from '#db/commands/lines/wake-all-lines.ts';

/** These commands call the payment provider, so they open their own transactions and hold none during a call. */
export interface Billing {
  pools: Pools;
  payments: PaymentProvider;
}

/** Nobody pays for the workspace. */
export class BillingDisabled extends Error {}

/** Another change of the workspace's plan is in progress. */
export class SubscriptionBusy extends Error {}

const PayerRow = z.object({ id: z.string(), name: z.string(), customerId: z.string().nullable() });

const AgencyIdRow = z.object({ id: z.string().nullable() });

/** The customer at the provider that pays for a workspace: its agency, or the workspace itself. */
export async function payingCustomer(billing: Billing, workspaceId: string): Promise<string> {
  const agencyId = await systemDb(billing.pools).oneFirst(sql.type(AgencyIdRow)`
    select agency_id id from workspaces where id = ${workspaceId}`);
  return agencyId === null
    ? customerOf(billing, 'workspaces', workspaceId)
    : agencyCustomer(billing, agencyId);
}

/** The provider's customer of an agency. */
export const agencyCustomer = (billing: Billing, agencyId: string): Promise<string> =>
  customerOf(billing, 'agencies', agencyId);

async function customerOf(
  { pools, payments }: Billing,
  payers: 'workspaces' | 'agencies',
  payerId: string,
): Promise<string> {
  const table = sql.identifier([payers]);
  const { id, name, customerId } = await systemDb(pools).one(sql.type(PayerRow)`
    select id, name, payment_customer_id customer_id from ${table} where id = ${payerId}`);
  if (customerId !== null) return customerId;
  const created = await payments.createCustomer({ id, name });
  // Concurrent calls create the same customer, because the idempotency key is the payer.
  await systemDb(pools).query(sql.type(NoRows)`
    update ${table} set payment_customer_id = ${created} where id = ${id} and payment_customer_id is null`);
  return created;
}

/** Longer than a plan change takes: it calls the provider up to six times, each with retries for over half a minute. */
const BUSY_SECONDS = 300;

const ClaimRow = z.object({
  plan: z.string().nullable(),
  status: z.string(),
  subscriptionId: z.string().nullable(),
  attempt: z.int(),
});
type Claim = z.infer<typeof ClaimRow>;

export interface Subscribed {
  subscriptionId: string | null;
  billingMode: BillingMode;
}

/**
 * Subscribes a workspace to a plan. Card billing charges the saved card; invoice billing takes effect at once, without
 * a subscription at the provider.
 * @param record is called in the transaction that changes the plan.
 * @throws CardDeclined, PaymentsUnavailable, SubscriptionBusy, BillingDisabled: nothing has changed then.
 */
export async function subscribe(
  billing: Billing,
  workspaceId: string,
  plan: Plan,
  record: (db: TenantDb) => Promise<void>,
): Promise<Subscribed> {
  const { pools } = billing;
  const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> => withTenant(pools, workspaceId, work);
  const claim = await tenant(async (db) => {
    const { billingMode, plan: before } = await lockBilling(db);
    if (billingMode === 'none') throw new BillingDisabled();
    if (billingMode === 'card') return claimSubscription(db);
    await applyPlan(db, plan, before);
    await record(db);
    return null;
  });
  if (!claim) return { subscriptionId: null, billingMode: 'invoice' };

  const end = (outcome: { subscription?: Subscription; asked: boolean; readAt: Date }): Promise<void> =>
    tenant(async (db) => {
      await releaseSubscription(db, outcome.asked);
      if (!outcome.subscription) return;
      await applySubscription(db, outcome.subscription, outcome.readAt, true);
      await record(db);
    });
  const readAt = currentTime();
  if (claim.subscriptionId !== null && claim.plan === plan && claim.status === 'active') {
    await end({ asked: false, readAt });
    return { subscriptionId: claim.subscriptionId, billingMode: 'card' };
  }
  try {
    const subscription = await charge(billing, workspaceId, plan, claim);
    await end({ subscription: { ...subscription, plan }, asked: true, readAt });
    return { subscriptionId: subscription.id, billingMode: 'card' };
  } catch (error) {
    // After a declined card the next attempt uses a new key; after a lost response it must use the same one, for any plan.
    await end({ asked: error instanceof CardDeclined, readAt });
    throw error;
  }
}

/** The workspace has a subscription at the payment provider. */
export class PaidAtProvider extends Error {}

/**
 * Gives a workspace a plan that is not charged, as an operator agreed with it.
 * @returns whether something has changed.
 * @throws PaidAtProvider
 */
export async function grantPlan(db: TenantDb, plan: Plan): Promise<boolean> {
  const { plan: before, subscriptionStatus, subscriptionId } = await lockBilling(db);
  const isCharged = subscriptionId !== null && subscriptionStatus !== 'canceled';
  if (isCharged) throw new PaidAtProvider();
  if (before === plan && subscriptionStatus === 'active') return false;
  await applyPlan(db, plan, before);
  return true;
}

/** Changes the workspace's subscription at the provider, or creates it. The provider never holds two of them. */
async function charge(
  billing: Billing,
  workspaceId: string,
  plan: Plan,
  claim: Claim,
): Promise<Subscription> {
  const { payments } = billing;
  const { subscriptionId, status, attempt } = claim;
  const key = `subscribe:${workspaceId}:${attempt}`;
  const change = (id: string): Promise<Subscription> =>
    payments.changePlan({ subscriptionId: id, plan, key: `${key}:${plan}:change` });
  if (subscriptionId !== null && status !== 'canceled') {
    try {
      return await change(subscriptionId);
    } catch (error) {
      if (!(error instanceof NoSuchSubscription)) throw error;
    }
  }
  const customerId = await payingCustomer(billing, workspaceId);
  // One whose response was lost.
  const found = await payments.findSubscription({ customerId, workspaceId });
  if (found) return found.status === 'active' && found.plan === plan ? found : change(found.id);
  // The key does not contain the plan: while another plan is on its way under the key, the provider refuses this one.
  return payments.subscribe({ customerId, workspaceId, plan, key });
}

async function claimSubscription(db: TenantDb): Promise<Claim> {
  const claim = await db.maybeOne(sql.type(ClaimRow)`
    update workspaces set subscription_busy_until = now() + make_interval(secs => ${BUSY_SECONDS})
    where id = ${db.workspaceId} and subscription_busy_until < now()
    returning plan, subscription_status status, payment_subscription_id subscription_id, subscription_attempt attempt`);
  if (!claim) throw new SubscriptionBusy();
  return claim;
}

async function releaseSubscription(db: TenantDb, asked: boolean): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspaces set subscription_busy_until = '-infinity', subscription_attempt = subscription_attempt + ${asked ? 1 : 0}
    where id = ${db.workspaceId}`);
}

/** Applies a plan that is not charged at the provider: events of a former subscription no longer concern the workspace. */
async function applyPlan(db: TenantDb, plan: Plan, before: Plan | null): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspaces set plan = ${plan}, subscription_status = 'active', payment_subscription_id = null, updated_at = now()
    where id = ${db.workspaceId}`);
  await wakeAwaiting(db);
  await wakeAllLines(db, currentTime());
  await notifyPlan(db, before, plan);
}

async function notifyPlan(db: TenantDb, from: Plan | null, to: Plan | null): Promise<void> {
  if (to !== null && to !== from)
    await notify(db, 'plan', { about: 'plan_changed', from, to }, currentTime());
}

/** Notifies a workspace of a failed payment or a cancellation. */
async function notifyStatus(db: TenantDb, from: string, to: Subscription['status']): Promise<void> {
  if (to === from) return;
  const now = currentTime();
  if (to === 'past_due') {
    await notify(db, 'subscription', { about: 'payment_failed', lineId: null, paymentUrl: null }, now);
  }
  if (to === 'canceled') await notify(db, 'subscription', { about: 'subscription_canceled' }, now);
}

/**
 * Applies a subscription as read from the provider. An earlier read never overwrites a later one, and a former
 * subscription never overwrites the current one. In invoice billing, a subscription is always a former one: the agency paid by card
 * when it was created.
 * @param present whether the workspace has just subscribed, which replaces any other subscription.
 */
async function applySubscription(
  db: TenantDb,
  subscription: Subscription,
  readAt: Date,
  present = false,
): Promise<void> {
  const before = await lockBilling(db);
  if (before.billingMode === 'invoice' && !present) return forgetEnded(db, subscription);
  const { rowCount } = await db.query(sql.type(NoRows)`
    update workspaces set
      subscription_status = ${subscription.status}, plan = coalesce(${subscription.plan}, plan),
      payment_subscription_id = ${subscription.id}, subscription_read_at = ${sql.timestamp(readAt)}, updated_at = now()
    where id = ${db.workspaceId} and (
      (payment_subscription_id = ${subscription.id} and subscription_read_at <= ${sql.timestamp(readAt)})
      or (payment_subscription_id is distinct from ${subscription.id} and (${present}
        or (${subscription.status} in ('active', 'past_due')
          and (payment_subscription_id is null or subscription_status in ('none', 'canceled'))))))`);
  if (rowCount === 0) return;
  await wakeAwaiting(db);
  if (SUSPENDED.includes(before.subscriptionStatus) !== SUSPENDED.includes(subscription.status))
    await wakeAllLines(db, currentTime());
  await notifyStatus(db, before.subscriptionStatus, subscription.status);
  await notifyPlan(db, before.plan, subscription.plan);
  const { status, plan } = subscription;
  const isChanged = status !== before.subscriptionStatus || (plan !== null && plan !== before.plan);
  // The caller that subscribes records the change.
  if (isChanged && !present)
    await insertAuditEntry(
      { db, workspaceId: db.workspaceId },
      {
        actor: { type: 'system', id: null, name: null },
        channel: 'system',
        action: 'subscription.changed',
        target: { type: 'workspace', id: db.workspaceId },
        changes: { status, ...(plan !== null && { plan }) },
      },
    );
}

/** If the agency pays by card again, its next plan is charged. */
async function forgetEnded(db: TenantDb, { id, status }: Subscription): Promise<void> {
  if (status !== 'canceled') return;
  await db.query(sql.type(NoRows)`
    update workspaces set payment_subscription_id = null
    where id = ${db.workspaceId} and payment_subscription_id = ${id}`);
}

/** The new plan may include the request that awaits payment. */
export async function wakeAwaiting(db: TenantDb): Promise<void> {
  const awaiting = await findAwaitingPayment(db);
  if (awaiting) wake(db, lineRequestId(awaiting.id), currentTime(), 'planChanged');
}

/**
 * Reads a subscription from the provider and applies it, because its events arrive in any order. Ignores subscriptions
 * that belong to no workspace.
 * @throws PaymentsUnavailable
 */
export async function refreshSubscription(
  { pools, payments }: Billing,
  subscriptionId: string,
): Promise<void> {
  const readAt = currentTime();
  const subscription = await payments.readSubscription(subscriptionId).catch((error: unknown) => {
    if (error instanceof NoSuchSubscription) return null;
    throw error;
  });
  if (!subscription) return;
  const workspaceId = await systemDb(pools).maybeOneFirst(sql.type(IdRow)`
    select id from workspaces where payment_subscription_id = ${subscriptionId} or id = ${subscription.workspaceId}
    order by payment_subscription_id = ${subscriptionId} desc nulls last limit 1`);
  if (workspaceId === null) return;
  await withTenant(pools, workspaceId, (db) => applySubscription(db, subscription, readAt));
}
