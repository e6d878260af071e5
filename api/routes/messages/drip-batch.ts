import type { ApiPools } from '#db/connection/pools.ts';
import { bufferDrips, bufferDripsAtOnce, type EarlierAnswers } from '#db/queries/messages/drip.ts';
import { claimIdempotencyKeys, storeResponses } from '#db/queries/accounts/idempotency.ts';
import { loadIntakeContexts, neededLines, plainContext } from '#db/queries/messages/intake.ts';
import type { SystemTransaction } from '#db/connection/transactions.ts';
import type { LinkReader } from '#domain/messages/attachment.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import {
  acknowledge,
  type EarlierAnswer,
  dripOf,
  type Drip,
  DripAcknowledgement,
  findDuplicates,
} from '#domain/messages/drip.ts';
import {
  decideByKey,
  type KeyDecision,
  type KeyedRequest,
  type StoredResponse,
} from '#domain/accounts/idempotency.ts';

import { Refusal } from '#domain/base/refusal.ts';
import type { IntakeContext } from '#domain/messages/accepted-message.ts';
import type { DripInput } from '#domain/messages/message.ts';
import { isPlainDrip } from '#domain/messages/plain-drip.ts';
import type { QuietUntil } from '#domain/messages/warnings.ts';
import { ApiError } from '#api/http/errors.ts';

export interface DripRequest extends KeyedRequest {
  caller: WorkspaceCaller;
  input: DripInput;
  correlationId: string;
  /** In the time of its workspace. */
  now: Date;
}

export interface DripResult {
  acknowledgement: DripAcknowledgement;
  /** Until when quiet hours postpone the message; null: they do not, or the response is an earlier one. */
  quietUntil: QuietUntil | null;
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
  const contexts = await loadIntakeContexts(
    db,
    batch.map(({ caller, input }) => ({ workspace: caller.workspace, input })),
    { links, now },
  );
  const stored = await claimIdempotencyKeys(db, 'drip', keysOf(batch));
  const decided = decide(batch, contexts, stored);
  const outcomes = outcomesOf(decided, await bufferDrips(db, acceptedIn(decided), now));
  await storeResponses(db, 'drip', responsesToStore(outcomes));
  return outcomes;
}

/** Like `acceptBatch`, without a transaction of several statements, for plain requests (`isPlain`). */
export async function acceptPlain<Request extends DripRequest>(
  pools: ApiPools,
  batch: readonly Request[],
  now: Date,
): Promise<Map<Request, DripResult | Error>> {
  const lines = await neededLines(pools.intake, [...new Set(batch.map(workspaceOf))], []);
  const contexts = new Map(
    batch.map(({ caller: { workspace } }) => [
      workspace.id,
      plainContext(workspace, lines.get(workspace.id) ?? []),
    ]),
  );
  const decided = decide(batch, contexts, new Map());
  return outcomesOf(decided, await bufferDripsAtOnce(pools, acceptedIn(decided), now));
}

/** Whether a request needs no lookup except for the lines of its caller. */
export const isPlain = ({ caller, idempotencyKey, input }: DripRequest): boolean =>
  idempotencyKey === '' && !caller.workspace.keepsDripsQuiet && isPlainDrip(input);

type Decided<Request> = { workspaceId: string; decisions: Map<Request, KeyDecision<Drip>> }[];

function decide<Request extends DripRequest>(
  batch: readonly Request[],
  contexts: ReadonlyMap<string, IntakeContext>,
  stored: ReadonlyMap<string, ReadonlyMap<string, StoredResponse>>,
): Decided<Request> {
  const requestsOf = Map.groupBy(batch, workspaceOf);
  return [...contexts].map(([workspaceId, context]) => ({
    workspaceId,
    decisions: decideByKey<Request, Drip>(
      requestsOf.get(workspaceId) ?? [],
      stored.get(workspaceId) ?? new Map(),
      (request) => dripOrRefusal(request, context),
    ),
  }));
}

const acceptedIn = (decided: Decided<DripRequest>) =>
  decided.flatMap(({ workspaceId, decisions }) =>
    acceptedOf(decisions).map((drip) => ({ workspaceId, drip })),
  );

function outcomesOf<Request extends DripRequest>(
  decided: Decided<Request>,
  earlier: EarlierAnswers,
): Map<Request, DripResult | Error> {
  const outcomes = new Map<Request, DripResult | Error>();
  for (const { workspaceId, decisions } of decided) {
    const duplicates = findDuplicates(acceptedOf(decisions), earlier.get(workspaceId) ?? new Map());
    for (const [request, decision] of decisions) outcomes.set(request, outcomeOf(decision, duplicates));
  }
  return outcomes;
}

export const workspaceOf = ({ caller }: DripRequest): string => caller.workspace.id;

const acceptedOf = (decisions: ReadonlyMap<DripRequest, KeyDecision<Drip>>): Drip[] =>
  [...decisions.values()].flatMap((decision) => (decision.kind === 'accepted' ? [decision.value] : []));

const keysOf = (batch: readonly DripRequest[]) =>
  batch.flatMap(({ caller, idempotencyKey: key, requestHash }) =>
    key === '' ? [] : [{ workspaceId: caller.workspace.id, key, requestHash }],
  );

function dripOrRefusal(
  { caller, input, correlationId, now }: DripRequest,
  context: IntakeContext,
): Drip | Refusal {
  try {
    return dripOf(input, context, { correlationId, userId: caller.userId, now, random: Math.random() });
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function outcomeOf(
  decision: KeyDecision<Drip>,
  duplicates: ReadonlyMap<Drip, EarlierAnswer>,
): DripResult | Error {
  switch (decision.kind) {
    case 'refused':
      return decision.error;
    case 'conflict':
      return new ApiError('IDEMPOTENCY_KEY_REUSED');
    case 'stored':
      if (decision.response === null) return new ApiError('CONTACT_ERASED');
      return {
        acknowledgement: DripAcknowledgement.parse(decision.response),
        quietUntil: null,
        replayed: true,
      };
    case 'accepted':
    case 'repeated': {
      const { kind, value: drip } = decision;
      const acknowledgement = acknowledge(drip, duplicates.get(drip) ?? drip.answer);
      return { acknowledgement, quietUntil: drip.quietUntil, replayed: kind === 'repeated' };
    }
  }
}

const responsesToStore = (outcomes: ReadonlyMap<DripRequest, DripResult | Error>) =>
  [...outcomes].flatMap(([{ caller, idempotencyKey: key }, outcome]) =>
    key === '' || outcome instanceof Error || outcome.replayed
      ? []
      : [{ workspaceId: caller.workspace.id, key, status: 200, response: outcome.acknowledgement }],
  );
