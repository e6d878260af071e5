import { bufferDrips } from '#db/queries/drip.ts';
import { claimIdempotencyKeys, storeResponses } from '#db/queries/idempotency.ts';
import { loadIntakeContext } from '#db/queries/intake.ts';
import type { Pools } from '#db/pools.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import { wakeUnlessDue } from '#db/wakes.ts';
import type { LinkReader } from '#domain/attachment.ts';
import type { WorkspaceCaller } from '#domain/caller.ts';
import { draftDrip, type Drip, DripAcknowledgement, findDuplicates } from '#domain/drip.ts';
import { decideByKey, type KeyDecision, type KeyedRequest } from '#domain/idempotency.ts';
import { type IntakeContext, Refusal } from '#domain/message-draft.ts';
import type { DripInput } from '#domain/message.ts';
import { dripDrainerId } from '#workflows/messages/wake.ts';
import { ApiError } from './http/errors.ts';
import type { Metrics } from './http/metrics.ts';

export interface DripRequest extends KeyedRequest {
  caller: WorkspaceCaller;
  input: DripInput;
  correlationId: string;
}

export interface DripResult {
  acknowledgement: DripAcknowledgement;
  /** Whether this is the response to an earlier request with the same `Idempotency-Key`. */
  replayed: boolean;
}

/** Commits concurrent requests of a workspace together. A request is acknowledged after its commit. */
export interface DripIntake {
  /** @throws Refusal or ApiError if the request is invalid; nothing is stored then. */
  accept(request: DripRequest): Promise<DripResult>;
}

interface PendingRequest extends DripRequest {
  resolve(result: DripResult): void;
  reject(error: unknown): void;
}

/** Enough to saturate the database; larger batches would only delay the first request of each. */
const MAX_BATCH = 200;

export function createDripIntake(
  pools: Pools,
  links: LinkReader,
  metrics: Pick<Metrics, 'intakeBatch'>,
): DripIntake {
  const queues = new Map<string, PendingRequest[]>();

  async function drain(workspaceId: string, queue: PendingRequest[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0, MAX_BATCH);
      metrics.intakeBatch.observe(batch.length);
      try {
        const outcomes = await withTenant(pools, workspaceId, (db) =>
          acceptBatch(db, batch, links, new Date()),
        );
        for (const [request, outcome] of outcomes) {
          if (outcome instanceof Error) request.reject(outcome);
          else request.resolve(outcome);
        }
      } catch (error) {
        for (const request of batch) request.reject(error);
      }
    }
    queues.delete(workspaceId);
  }

  return {
    accept: (request) =>
      new Promise((resolve, reject) => {
        const pending = { ...request, resolve, reject };
        const workspaceId = request.caller.workspace.id;
        const queue = queues.get(workspaceId);
        if (queue) {
          queue.push(pending);
          return;
        }
        const started = [pending];
        queues.set(workspaceId, started);
        // Requests that arrive in the same turn of the event loop join the first batch.
        setImmediate(() => void drain(workspaceId, started));
      }),
  };
}

async function acceptBatch<Request extends DripRequest>(
  db: TenantDb,
  batch: readonly Request[],
  links: LinkReader,
  now: Date,
): Promise<Map<Request, DripResult | Error>> {
  const [first] = batch;
  if (!first) return new Map();
  const inputs = batch.map(({ input }) => input);
  const context = await loadIntakeContext(db, inputs, first.caller.workspace, { links, now });
  const stored = await claimIdempotencyKeys(db, 'drip', keysOf(batch));
  const decisions = decideByKey<Request, Drip>(batch, stored, (request) =>
    draftOrRefusal(request, context, now),
  );

  const drips = [...decisions.values()].flatMap((decision) =>
    decision.kind === 'accepted' ? [decision.value] : [],
  );
  const duplicates = findDuplicates(drips, await bufferDrips(db, drips));
  const outcomes = new Map(
    [...decisions].map(([request, decision]) => [request, outcomeOf(decision, duplicates)]),
  );
  await storeResponses(db, 'drip', responsesToStore(outcomes));

  if (drips.length > duplicates.size) wakeUnlessDue(db, dripDrainerId(db.workspaceId), now, 'dripsBuffered');
  return outcomes;
}

const keysOf = (batch: readonly DripRequest[]) =>
  batch.flatMap(({ idempotencyKey, requestHash }) =>
    idempotencyKey === '' ? [] : [{ key: idempotencyKey, requestHash }],
  );

function draftOrRefusal(
  { caller, input, correlationId }: DripRequest,
  context: IntakeContext,
  now: Date,
): Drip | Refusal {
  try {
    return draftDrip(input, context, { correlationId, userId: caller.userId, now, random: Math.random() });
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function outcomeOf(
  decision: KeyDecision<Drip>,
  duplicates: ReadonlyMap<Drip, DripAcknowledgement>,
): DripResult | Error {
  switch (decision.kind) {
    case 'refused':
      return decision.error;
    case 'conflict':
      return new ApiError('IDEMPOTENCY_KEY_REUSED');
    case 'stored':
      if (decision.response === null) return new ApiError('CONTACT_ERASED');
      return { acknowledgement: DripAcknowledgement.parse(decision.response), replayed: true };
    case 'accepted':
    case 'repeated': {
      const acknowledgement = duplicates.get(decision.value) ?? decision.value.acknowledgement;
      return { acknowledgement, replayed: decision.kind === 'repeated' };
    }
  }
}

const responsesToStore = (outcomes: ReadonlyMap<DripRequest, DripResult | Error>) =>
  [...outcomes].flatMap(([{ idempotencyKey: key }, outcome]) =>
    key === '' || outcome instanceof Error || outcome.replayed
      ? []
      : [{ key, status: 200, response: outcome.acknowledgement }],
  );
