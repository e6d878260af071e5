import { currentTime } from '#domain/base/clock.ts';
import { isPartialFailure, isOverload } from '#db/connection/overload.ts';
import { type ApiPools, INTAKE_BATCHES } from '#db/connection/pools.ts';
import { forMany } from '#providers/log-context.ts';
import {
  type SystemTransaction,
  withIntake,
  withIntakeShare,
  withTenantReads,
} from '#db/connection/transactions.ts';
import { knownCustomFields } from '#db/queries/accounts/limits.ts';
import type { LinkReader } from '#domain/messages/attachment.ts';
import { createBatchSchedule } from '#domain/base/batch-schedule.ts';
import { takeFairly } from '#domain/base/fair-batch.ts';
import {
  acceptBatch,
  acceptPlain,
  type DripRequest,
  type DripResult,
  isPlain,
  workspaceOf,
} from './drip-batch.ts';
import type { Metrics } from '#api/http/metrics.ts';

/**
 * Commits concurrent requests together, regardless of their workspaces. A request
 * is acknowledged after its commit. Committed by workspace, a drip of ten workspaces took the API 2.6 times the processor time and
 * PostgreSQL 4.7 times.
 */
export interface DripIntake {
  /** @throws Refusal or ApiError if the request is invalid; nothing is stored then. */
  accept(request: DripRequest): Promise<DripResult>;
  /** The names of a workspace's custom fields; null: unknown, because the database is busy. Questions at the same moment share one look-up. */
  customFields(workspaceId: string): Promise<readonly string[] | null>;
}

interface PendingRequest extends DripRequest {
  resolve(result: DripResult): void;
  reject(error: unknown): void;
}

/** Enough to saturate the database; larger batches would only delay the first request of each. */
const MAX_BATCH = 200;
/** Enough requests to share the cost of a second batch's statements. */
const MIN_SECOND_BATCH = 32;

export function createDripIntake(
  pools: ApiPools,
  links: LinkReader,
  metrics: Pick<Metrics, 'intakeBatch'>,
): DripIntake {
  const lookUps = new Map<string, Promise<readonly string[] | null>>();
  /** The waiting requests by workspace, in the order of their turns. */
  const queues = new Map<string, PendingRequest[]>();
  let waiting = 0;

  const schedule = createBatchSchedule({
    concurrency: INTAKE_BATCHES,
    minConcurrentSize: MIN_SECOND_BATCH,
    countWaiting: () => waiting,
    runBatch: forMany(async () => {
      const batch = takeFairly(queues, MAX_BATCH);
      waiting -= batch.length;
      if (batch.length === 0) return;
      metrics.intakeBatch.observe(batch.length);
      await commit(batch);
    }),
  });

  const accept = (batch: readonly PendingRequest[]) => (db: SystemTransaction) =>
    acceptBatch(db, batch, links, currentTime());

  /** Plain requests are committed apart from those that need a transaction. With one, 0.75 times as many were accepted a second. */
  async function commit(batch: readonly PendingRequest[]): Promise<void> {
    const isSpecial = (request: PendingRequest): boolean => !isPlain(request);
    await Promise.all([
      commitTogether(batch.filter(isPlain), commitPlain),
      commitTogether(batch.filter(isSpecial), commitSpecial),
    ]);
  }

  async function commitPlain(batch: readonly PendingRequest[]): Promise<void> {
    settleNextTurn(await acceptPlain(pools, batch, currentTime()));
  }

  async function commitSpecial(batch: readonly PendingRequest[]): Promise<void> {
    const workspaceIds = [...new Set(batch.map(workspaceOf))];
    settleNextTurn(await withIntake(pools, workspaceIds, accept(batch)));
  }

  async function commitTogether(
    batch: readonly PendingRequest[],
    store: (batch: readonly PendingRequest[]) => Promise<void>,
  ): Promise<void> {
    if (batch.length === 0) return;
    try {
      await store(batch);
    } catch (error) {
      if (isOverload(error) && !isPartialFailure(error)) refuse(batch, error);
      else for (const own of Map.groupBy(batch, workspaceOf).values()) void commitAlone(own);
    }
  }

  /** A failure caused by one workspace must neither fail nor delay the requests of others. */
  async function commitAlone(batch: readonly PendingRequest[]): Promise<void> {
    const [first] = batch;
    if (!first) return;
    await withIntakeShare(pools, workspaceOf(first), accept(batch)).then(settleNextTurn, (error: unknown) =>
      refuse(batch, error),
    );
  }

  return {
    customFields(workspaceId) {
      const running = lookUps.get(workspaceId);
      if (running) return running;
      const lookUp = withTenantReads(pools, workspaceId, knownCustomFields)
        .catch(() => null)
        .finally(() => lookUps.delete(workspaceId));
      lookUps.set(workspaceId, lookUp);
      return lookUp;
    },
    accept: (request) =>
      new Promise((resolve, reject) => {
        const pending = { ...request, resolve, reject };
        const workspaceId = workspaceOf(request);
        const queue = queues.get(workspaceId);
        if (queue) queue.push(pending);
        else queues.set(workspaceId, [pending]);
        waiting++;
        schedule.itemAdded();
      }),
  };
}

/** Settles in the next turn, after the next batch has begun: the database works on that while these responses are written. */
const settleNextTurn = (outcomes: ReadonlyMap<PendingRequest, DripResult | Error>): void =>
  void setImmediate(() => {
    for (const [request, outcome] of outcomes) {
      if (outcome instanceof Error) request.reject(outcome);
      else request.resolve(outcome);
    }
  });

function refuse(batch: readonly PendingRequest[], error: unknown): void {
  for (const request of batch) request.reject(error);
}
