import { decideToRest } from '#db/decisions.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import {
  beginClaims,
  claimDeliveries,
  failInterrupted,
  oldestClaim,
  oldestPending,
} from '#db/queries/webhook-deliveries.ts';
import { DELIVERY_TIMEOUT_MS } from '#providers/webhook-post.ts';
import { webhookDispatcherId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { isDue, type Look, roundOf } from './round.ts';

/** Under way at once to one endpoint: a hanging one holds so many sockets, and a slow one still gets on. */
const PER_WEBHOOK = 8;
/** And for one workspace: 128 of its endpoints have to hang before they delay another of the same workspace. */
const PER_WORKSPACE = 1024;
const CLAIM_AT_ONCE = 256;

/** Whoever claimed a delivery so long ago is gone: the time that one may take, and time to record it. */
export const INTERRUPTED_AFTER_MS = DELIVERY_TIMEOUT_MS + 5000;

/** Slots are taken in turns: a workspace with more to do than this comes again behind the others. */
const ROUND_MS = 20_000;
/** Events come in bursts: looking again for a moment is cheaper than being woken for each. */
const LINGER_MS = 3000;
/** How often it claims from the beginning, for what was committed late and for webhooks that have just become active. */
const BEGIN_MS = 5000;
/** How often, at first and when nothing came for a while. */
const POLL_MS = 50;
const SLOWEST_POLL_MS = 200;

export function createWebhookActivities({ pools, deliverer }: Dependencies) {
  return {
    /** Begins the deliveries of a workspace, all endpoints side by side, until nothing waits any more. */
    async deliverWebhooks({ workspaceId }: { workspaceId: string }): Promise<Round> {
      const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
        withTenant(pools, workspaceId, work);
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        let lastFound = 0;
        let poll = POLL_MS;
        await tenant((db) => failInterrupted(db, INTERRUPTED_AFTER_MS));
        let claims = await tenant(beginClaims);
        let begun = Date.now();
        while (Date.now() < end && !canceled.aborted) {
          if (Date.now() - begun >= BEGIN_MS) {
            claims = await tenant(beginClaims);
            begun = Date.now();
          }
          const lane = deliverer.lane(workspaceId);
          const limit = Math.min(CLAIM_AT_ONCE, PER_WORKSPACE - lane.underWay);
          const claimed = await tenant((db) =>
            claimDeliveries(db, { claims, perWebhook: PER_WEBHOOK, busy: lane.busy, limit }),
          );
          for (const delivery of claimed) {
            lane.start(delivery);
            claims.last.set(delivery.webhookId, delivery.id);
          }
          if (claimed.length > 0) {
            lastFound = Date.now();
            poll = POLL_MS;
            // As many as were asked for: there may be more that have room.
            if (claimed.length === limit) continue;
          } else if (Date.now() - lastFound >= LINGER_MS) {
            const look = await decideToRest(
              pools,
              workspaceId,
              webhookDispatcherId(workspaceId),
              lookAtDeliveries,
            );
            if (!isDue(look)) return roundOf(look);
            begun = 0;
            lastFound = Date.now();
          }
          await lane.progress(poll);
          poll = Math.min(poll * 1.5, SLOWEST_POLL_MS);
        }
        return { nextAt: new Date().toISOString(), reason: 'more is to be delivered' };
      });
    },
  };
}

/** While deliveries are under way it looks again when they would have been interrupted. */
async function lookAtDeliveries(db: TenantDb): Promise<Look> {
  if (await oldestPending(db)) return { nextAt: new Date(), reason: 'more is to be delivered' };
  const claimedAt = await oldestClaim(db);
  if (claimedAt === null) return { nextAt: null, reason: 'every event is delivered' };
  const nextAt = new Date(claimedAt.getTime() + INTERRUPTED_AFTER_MS + 100);
  return { nextAt, reason: 'deliveries are under way' };
}
