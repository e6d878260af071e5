import { createHash, randomInt } from 'node:crypto';
import { bufferDrips, claimFingerprints, type DripAcknowledgement } from '#db/queries/drip.ts';
import { claimIdempotencyKeys, storeResponses } from '#db/queries/idempotency.ts';
import { loadIntakeContext } from '#db/queries/intake.ts';
import type { Pools } from '#db/pools.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import { wake } from '#db/wakes.ts';
import type { LinkReader } from '#domain/attachment.ts';
import type { WorkspaceCaller } from '#domain/caller.ts';
import { draftMessage, type IntakeContext, type MessageDraft, Refusal } from '#domain/message-draft.ts';
import type { DripInput } from '#domain/message.ts';
import { dripDrainerId } from '#workflows/messages/wake.ts';
import { ApiError } from './http/errors.ts';
import type { Metrics } from './http/metrics.ts';

export interface DripRequest {
  caller: WorkspaceCaller;
  input: DripInput;
  correlationId: string;
  /** Empty: none was sent. */
  idempotencyKey: string;
  requestHash: string;
}

export interface DripResult {
  acknowledgement: DripAcknowledgement;
  /** The answer of an earlier request with this `Idempotency-Key`. */
  replayed: boolean;
}

/** Durable before it answers: requests that wait at the same moment share one commit of their workspace. */
export interface DripIntake {
  /** @throws Refusal or ApiError when the request breaks a rule; nothing is stored then. */
  accept(request: DripRequest): Promise<DripResult>;
}

interface Waiting extends DripRequest {
  resolve(result: DripResult): void;
  reject(error: unknown): void;
}

/** Enough to saturate the database; more only makes the first of the batch wait longer. */
const MAX_BATCH = 200;
/** The limits of the bulk intake: bursts pass, only a flood of one workspace is told to slow down. */
export const JITTER_FLOOR_MS = 30_000;
export const JITTER_SPREAD_MS = 300_000;

export function createDripIntake(
  pools: Pools,
  links: LinkReader,
  metrics: Pick<Metrics, 'intakeBatch'>,
): DripIntake {
  const queues = new Map<string, Waiting[]>();

  async function drain(workspaceId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0, MAX_BATCH);
      metrics.intakeBatch.observe(batch.length);
      try {
        const outcomes = await withTenant(pools, workspaceId, (db) =>
          acceptBatch(db, batch, links, new Date()),
        );
        batch.forEach((request, index) => {
          const outcome = outcomes[index];
          if (outcome instanceof Error || outcome === undefined) request.reject(outcome);
          else request.resolve(outcome);
        });
      } catch (error) {
        for (const request of batch) request.reject(error);
      }
    }
    queues.delete(workspaceId);
  }

  return {
    accept: (request) =>
      new Promise((resolve, reject) => {
        const waiting = { ...request, resolve, reject };
        const workspaceId = request.caller.workspace.id;
        const queue = queues.get(workspaceId);
        if (queue) {
          queue.push(waiting);
          return;
        }
        const started = [waiting];
        queues.set(workspaceId, started);
        // Whoever arrives in the same turn of the event loop comes along in the first commit.
        setImmediate(() => void drain(workspaceId, started));
      }),
  };
}

type Outcome = DripResult | Error;

async function acceptBatch(
  db: TenantDb,
  batch: readonly DripRequest[],
  links: LinkReader,
  now: Date,
): Promise<Outcome[]> {
  const [first] = batch;
  if (!first) return [];
  const outcomes: Outcome[] = [];
  const context = await loadIntakeContext(
    db,
    batch.map(({ input }) => input),
    first.caller.workspace,
    { links, now },
  );
  const earlier = await claimIdempotencyKeys(db, 'drip', keysOf(batch));

  const fresh: {
    index: number;
    draft: MessageDraft;
    fingerprint: string;
    acknowledgement: DripAcknowledgement;
  }[] = [];
  const owners = new Map<string, number>();
  const followers: { index: number; owner: number }[] = [];
  batch.forEach((request, index) => {
    try {
      const known = earlier.get(request.idempotencyKey);
      if (known) {
        if (known.requestHash !== request.requestHash) throw new ApiError('IDEMPOTENCY_KEY_REUSED');
        outcomes[index] = { acknowledgement: known.response as DripAcknowledgement, replayed: true };
        return;
      }
      const owner = request.idempotencyKey === '' ? undefined : owners.get(request.idempotencyKey);
      if (owner !== undefined) {
        if (batch[owner]?.requestHash !== request.requestHash) throw new ApiError('IDEMPOTENCY_KEY_REUSED');
        followers.push({ index, owner });
        return;
      }
      const { draft, acknowledgement } = draftDrip(request, context, now);
      owners.set(request.idempotencyKey, index);
      fresh.push({ index, draft, fingerprint: fingerprintOf(draft), acknowledgement });
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof ApiError)) throw error;
      outcomes[index] = error;
    }
  });

  const duplicates = await claimFingerprints(db, fresh);
  const buffered: MessageDraft[] = [];
  const inBatch = new Map<string, DripAcknowledgement>();
  for (const { index, draft, fingerprint, acknowledgement } of fresh) {
    const original = duplicates.get(fingerprint) ?? inBatch.get(fingerprint);
    if (!original) {
      buffered.push(draft);
      inBatch.set(fingerprint, acknowledgement);
    }
    const { correlationId } = acknowledgement;
    outcomes[index] = {
      acknowledgement: original ? { ...original, correlationId } : acknowledgement,
      replayed: false,
    };
  }
  for (const { index, owner } of followers) {
    const outcome = outcomes[owner];
    if (outcome !== undefined)
      outcomes[index] = outcome instanceof Error ? outcome : { ...outcome, replayed: true };
  }

  await storeResponses(
    db,
    'drip',
    fresh.flatMap(({ index }) => {
      const outcome = outcomes[index];
      const key = batch[index]?.idempotencyKey ?? '';
      return key === '' || outcome === undefined || outcome instanceof Error
        ? []
        : [{ key, status: 200, response: outcome.acknowledgement }];
    }),
  );
  if (buffered.length === 0) return outcomes;
  await bufferDrips(db, buffered);
  wake(db, dripDrainerId(db.workspaceId), now, 'dripsBuffered');
  return outcomes;
}

const keysOf = (batch: readonly DripRequest[]) =>
  batch.flatMap(({ idempotencyKey, requestHash }) =>
    idempotencyKey === '' ? [] : [{ key: idempotencyKey, requestHash }],
  );

/** The message of a drip, at its jittered time, moved into its send window. */
function draftDrip(
  { caller, input, correlationId }: DripRequest,
  context: IntakeContext,
  now: Date,
): { draft: MessageDraft; acknowledgement: DripAcknowledgement } {
  const jitterMs = randomInt(JITTER_SPREAD_MS);
  const schedule = new Date(now.getTime() + JITTER_FLOOR_MS + jitterMs);
  const draft = draftMessage({ ...input, correlationId }, context, {
    now,
    source: 'crm-drip',
    schedule,
    userId: caller.userId,
  });
  return {
    draft,
    acknowledgement: { status: 'queued', correlationId, scheduledDate: draft.scheduledAt, jitterMs },
  };
}

/** What makes two drips one: recipient and body, the attachments being part of the body. */
function fingerprintOf({ address, body, attachmentUrls }: MessageDraft): string {
  return createHash('sha256')
    .update(JSON.stringify([address, body, attachmentUrls]))
    .digest('base64url');
}
