import { bufferDrips } from '#db/queries/drip.ts';
import { claimIdempotencyKeys, storeResponses } from '#db/queries/idempotency.ts';
import { loadIntakeContexts } from '#db/queries/intake.ts';
import type { SystemTransaction } from '#db/transactions.ts';
import type { LinkReader } from '#domain/attachment.ts';
import type { WorkspaceCaller } from '#domain/caller.ts';
import { draftDrip, type Drip, DripAcknowledgement, findDuplicates } from '#domain/drip.ts';
import { decideByKey, type KeyDecision, type KeyedRequest } from '#domain/idempotency.ts';
import { type IntakeContext, Refusal } from '#domain/message-draft.ts';
import type { DripInput } from '#domain/message.ts';
import { dripDrainerId } from '#workflows/messages/wake.ts';
import { ApiError } from './http/errors.ts';

export interface DripRequest extends KeyedRequest {
  caller: WorkspaceCaller;
  input: DripInput;
  correlationId: string;
  /** In the time of its workspace. */
  now: Date;
}

export interface DripResult {
  acknowledgement: DripAcknowledgement;
  /** Whether this is the response to an earlier request with the same `Idempotency-Key`. */
  replayed: boolean;
}

/**
 * Accepts requests of any number of workspaces in one transaction. It crosses workspaces, so every row that it reads or
 * writes carries the workspace of an authenticated caller.
 */
export async function acceptBatch<Request extends DripRequest>(
  db: SystemTransaction,
  batch: readonly Request[],
  links: LinkReader,
  now: Date,
): Promise<Map<Request, DripResult | Error>> {
  const requestsOf = Map.groupBy(batch, workspaceOf);
  const contexts = await loadIntakeContexts(
    db,
    batch.map(({ caller, input }) => ({ workspace: caller.workspace, input })),
    { links, now },
  );
  const stored = await claimIdempotencyKeys(db, 'drip', keysOf(batch));
  const decided = [...contexts].map(([workspaceId, context]) => ({
    workspaceId,
    decisions: decideByKey<Request, Drip>(
      requestsOf.get(workspaceId) ?? [],
      stored.get(workspaceId) ?? new Map(),
      (request) => draftOrRefusal(request, context),
    ),
  }));

  const earlier = await bufferDrips(
    db,
    decided.flatMap(({ workspaceId, decisions }) =>
      acceptedOf(decisions).map((drip) => ({ workspaceId, drip })),
    ),
  );
  const outcomes = new Map<Request, DripResult | Error>();
  for (const { workspaceId, decisions } of decided) {
    const drips = acceptedOf(decisions);
    const duplicates = findDuplicates(drips, earlier.get(workspaceId) ?? new Map());
    for (const [request, decision] of decisions) outcomes.set(request, outcomeOf(decision, duplicates));
    if (drips.length > duplicates.size)
      db.wakes.requestUnlessDue(workspaceId, dripDrainerId(workspaceId), now, 'dripsBuffered');
  }
  await storeResponses(db, 'drip', responsesToStore(outcomes));
  return outcomes;
}

export const workspaceOf = ({ caller }: DripRequest): string => caller.workspace.id;

const acceptedOf = (decisions: ReadonlyMap<DripRequest, KeyDecision<Drip>>): Drip[] =>
  [...decisions.values()].flatMap((decision) => (decision.kind === 'accepted' ? [decision.value] : []));

const keysOf = (batch: readonly DripRequest[]) =>
  batch.flatMap(({ caller, idempotencyKey: key, requestHash }) =>
    key === '' ? [] : [{ workspaceId: caller.workspace.id, key, requestHash }],
  );

function draftOrRefusal(
  { caller, input, correlationId, now }: DripRequest,
  context: IntakeContext,
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
  [...outcomes].flatMap(([{ caller, idempotencyKey: key }, outcome]) =>
    key === '' || outcome instanceof Error || outcome.replayed
      ? []
      : [{ workspaceId: caller.workspace.id, key, status: 200, response: outcome.acknowledgement }],
  );
