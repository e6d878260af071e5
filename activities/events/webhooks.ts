import { decide, type Look } from '#db/wakes/decisions.ts';
import { currentTime, fromNow, realFromNow, realTime } from '#domain/base/clock.ts';
import { firstId } from '#domain/base/ids.ts';
import { UNSUBSCRIBED_DELIVERIES_PER_DAY } from '#domain/accounts/limits.ts';
import { hasSubscription } from '#domain/billing/entitlement.ts';
import { findPayment } from '#db/queries/accounts/credentials.ts';
import { type TenantDb, withSystem, withTenant } from '#db/connection/transactions.ts';
import { isTestTime } from '#db/connection/workspace-clock.ts';
import { nextRetry, planRetries, queueRetries } from '#db/commands/events/webhook-retries.ts';
import {
  beginDispatch,
  claimDeliveries,
  firstBeyond,
  type DispatcherPosition,
  failInterrupted,
  oldestClaim,
  oldestPending,
  oldestQueuedRetry,
  openFrom,
  webhooksChangedAt,
} from '#db/queries/events/webhook-deliveries.ts';
import { webhookDispatcherId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Rounds } from '../base/round-poller.ts';
import { type DeliverySlots, INTERRUPTED_AFTER_MS } from './webhook-deliverer.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import { dueNow, isDue, LEFT_DUE, leftToProcesses } from '../base/round.ts';

/** Concurrent deliveries of one workspace. */
const PER_WORKSPACE = 1536;
/**
 * With more in progress, no endpoint gets more than at first. So half of them are left for others when endpoints that
 * had been given more begin to hang: 96 further endpoints must hang before the rest is delayed.
 */
const MAX_BEYOND_FIRST = 512;
const CLAIM_AT_ONCE = 256;

/** A workspace with more work than this starts another round, behind the other workspaces. */
const ROUND_MS = 20_000;
const BEYOND_BUDGET = `not sent: without a subscription, there are ${UNSUBSCRIBED_DELIVERIES_PER_DAY} deliveries a day`;
const MORE = 'there are more deliveries to send';
/** Deliveries that have waited for longer at the end of a round are more than its endpoints take. */
const BEHIND_MS = 5000;
/** Events come in bursts: looking for a moment is cheaper than the next round. */
const LINGER_MS = 1000;
/** How often claims start from the oldest delivery again, to find late commits and reactivated webhooks. */
const RESTART_MS = 5000;
/** Processes of the previous release wake no dispatcher that is at work. What they commit meanwhile is found by one more look. */
const LATE_EVENTS_MS = 30_000;
/** For what is not announced. */
const POLL_MS = 200;

/** How long a worker relies on what a look into all days has found, unless a webhook is changed, such as reactivated. */
const OPEN_FROM_MS = 3_600_000;

type Tenant = <T>(work: (db: TenantDb) => Promise<T>) => Promise<T>;

/** @returns what runs a round: starts the deliveries of a workspace, to all endpoints concurrently, until none are pending or the time is over. */
function createDeliveryRound({
  pools,
  deliverer,
  announcements,
}: Pick<Dependencies, 'pools' | 'deliverer' | 'announcements'>) {
  /** Where the deliveries of workspaces begin that are not done, see `openFrom`. */
  const begins = new Map<string, { id: string; changedAt: string | null; until: number }>();
  async function beginOf(db: TenantDb): Promise<string> {
    const [begin, retry] = [await firstOpen(db), await oldestQueuedRetry(db)];
    return retry !== null && retry < begin ? retry : begin;
  }
  async function firstOpen(db: TenantDb): Promise<string> {
    const known = begins.get(db.workspaceId);
    const changedAt = await webhooksChangedAt(db);
    if (known && known.changedAt === changedAt && known.until > Date.now()) return known.id;
    const id = await openFrom(db);
    begins.set(db.workspaceId, { id, changedAt, until: Date.now() + OPEN_FROM_MS });
    return id;
  }

  /** The id from which on deliveries of today are not sent; null: all are. Most workspaces have a subscription. */
  async function endOfBudget(workspaceId: string): Promise<string | null> {
    const payment = await withSystem(pools, (db) => findPayment(db, workspaceId));
    if (payment === null || hasSubscription(payment)) return null;
    const now = realTime();
    return withTenant(pools, workspaceId, (db) => firstBeyond(db, UNSUBSCRIBED_DELIVERIES_PER_DAY, now));
  }

  return async (workspaceId: string, canceled: AbortSignal): Promise<Look> => {
    const tenant: Tenant = (work) => withTenant(pools, workspaceId, work);
    await tenant(async (db) => {
      const interrupted = await failInterrupted(db, INTERRUPTED_AFTER_MS, await beginOf(db));
      await planRetries(db, interrupted, currentTime());
    });
    const look = async (db: TenantDb): Promise<Look> => {
      const found = await lookAtDeliveries(db, await beginOf(db));
      const looksAgain = found.nextAt === null && lastFound > 0 && !isTestTime();
      return looksAgain ? { ...found, nextAt: fromNow(LATE_EVENTS_MS) } : found;
    };
    const becomeIdle = () => decide(pools, workspaceId, webhookDispatcherId(workspaceId), look);
    const end = Date.now() + ROUND_MS;
    let lastFound = 0;
    using events = announcements.subscribe((announced) => announced === workspaceId);
    const claims = createDispatch(tenant, beginOf, () => endOfBudget(workspaceId));
    while (Date.now() < end && !canceled.aborted) {
      const slots = deliverer.slots(workspaceId);
      const found = await claims.start(slots);
      if (found !== 'none') lastFound = Date.now();
      if (found === 'full batch') continue;
      // The clock of test mode waits for each round.
      if (found === 'none' && (Date.now() - lastFound >= LINGER_MS || isTestTime())) {
        const next = await becomeIdle();
        if (!isDue(next)) return next;
        claims.restart();
        lastFound = Date.now();
      }
      await events.next(POLL_MS, slots.progress());
    }
    return (await tenant(isBehind)) ? dueNow(MORE) : LEFT_DUE;
  };

  /** Otherwise events keep coming, and are delivered as they come. */
  async function isBehind(db: TenantDb): Promise<boolean> {
    const oldest = await oldestPending(db, await beginOf(db));
    return oldest !== null && oldest < firstId(realFromNow(-BEHIND_MS));
  }
}

export function createWebhookActivities({ roundClaims, ...dependencies }: Dependencies) {
  const deliver = createDeliveryRound(dependencies);
  return {
    /** Delivers the events of a workspace until none are pending, where the rounds of processes did not suffice. */
    async deliverWebhooks({ workspaceId }: { workspaceId: string }): Promise<Round> {
      const workflowId = webhookDispatcherId(workspaceId);
      return withHeartbeat(async (canceled) =>
        roundClaims.during({ workspaceId, workflowId }, async () =>
          leftToProcesses(await deliver(workspaceId, canceled)),
        ),
      );
    },
  };
}

/** The rounds of webhook dispatchers that processes take themselves. */
export function webhookRounds(
  dependencies: Pick<Dependencies, 'pools' | 'deliverer' | 'announcements'>,
  slots: number,
): Rounds {
  const deliver = createDeliveryRound(dependencies);
  return {
    slots,
    async run({ workspaceId }, canceled) {
      const next = await deliver(workspaceId, canceled);
      return isDue(next) && !canceled.aborted ? 'hand over' : 'done';
    },
  };
}

/** Claims deliveries in their order and starts them. */
function createDispatch(
  tenant: Tenant,
  beginOf: (db: TenantDb) => Promise<string>,
  endOfBudget: () => Promise<string | null>,
) {
  let claims: DispatcherPosition | null = null;
  let startedAt = 0;
  return {
    /** Makes the next claim start from the oldest delivery. */
    restart(): void {
      claims = null;
    },
    async start(slots: DeliverySlots): Promise<'none' | 'some' | 'full batch'> {
      if (!claims || Date.now() - startedAt >= RESTART_MS) {
        claims = await tenant(async (db) => {
          await queueRetries(db, currentTime());
          return beginDispatch(db, await beginOf(db));
        });
        startedAt = Date.now();
      }
      const { last } = claims;
      // Another round of the workspace that was cut off may still use the slots.
      const limit = Math.min(CLAIM_AT_ONCE, Math.max(0, PER_WORKSPACE - slots.underWay));
      const limits = slots.underWay < MAX_BEYOND_FIRST ? slots.limits : new Map<string, number>();
      const options = { claims, limits, busy: slots.busy, limit };
      const claimed = await tenant((db) => claimDeliveries(db, options));
      const end = claimed.length === 0 ? null : await endOfBudget();
      for (const delivery of claimed) {
        if (end === null || delivery.id < end) slots.start(delivery);
        else slots.refuse(delivery, BEYOND_BUDGET);
        last.set(delivery.webhookId, delivery.id);
      }
      if (claimed.length === 0) return 'none';
      return claimed.length === limit ? 'full batch' : 'some';
    },
  };
}

/** While deliveries are under way, the next look is when they would count as interrupted, or when a retry is due. */
async function lookAtDeliveries(db: TenantDb, open: string): Promise<Look> {
  if (await oldestPending(db, open)) return dueNow(MORE);
  const claimedAt = await oldestClaim(db, open);
  const retryAt = await nextRetry(db);
  const interruptedAt = claimedAt && new Date(claimedAt.getTime() + INTERRUPTED_AFTER_MS + 100);
  if (retryAt && (!interruptedAt || retryAt <= interruptedAt))
    return { nextAt: retryAt, reason: 'failed deliveries are sent again' };
  if (interruptedAt) return { nextAt: interruptedAt, reason: 'deliveries are in progress' };
  return { nextAt: null, reason: 'every event is delivered' };
}
