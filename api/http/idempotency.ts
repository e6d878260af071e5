import { createHash } from 'node:crypto';
import { z } from 'zod';
import { claimAgencyIdempotencyKey, storeAgencyResponse } from '#db/queries/accounts/agency-idempotency.ts';
import { claimIdempotencyKeys, storeResponses } from '#db/queries/accounts/idempotency.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import type { StoredResponse } from '#domain/accounts/idempotency.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { mapInTurns } from '#domain/base/turns.ts';
import { type SecretBox, secretContext } from '#providers/secret-box.ts';
import { ApiError } from './errors.ts';
import { requireHeaderLength } from './parse.ts';
import type { HandlerResult } from './route.ts';

export const MAX_KEY_LENGTH = 255;

/** A hash of a JSON value that does not depend on the order of its fields. */
export async function requestHash(body: unknown): Promise<string> {
  return createHash('sha256')
    .update(await canonicalInTurns(body))
    .digest('hex');
}

/** Like `canonical`, but processes long lists in turns of the event loop. */
async function canonicalInTurns(value: unknown): Promise<string> {
  if (Array.isArray(value)) return `[${(await mapInTurns(value, canonical)).join(',')}]`;
  if (value === null || typeof value !== 'object') return canonical(value);
  const fields: string[] = [];
  for (const [name, field] of inOrder(value))
    fields.push(`${JSON.stringify(name)}:${await canonicalInTurns(field)}`);
  return `{${fields.join(',')}}`;
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const fields = inOrder(value).map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`);
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

const inOrder = (value: object): [string, unknown][] =>
  Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));

/** A request with an `Idempotency-Key`, or with the key '' if it has none. */
export interface IdempotentRequest {
  /** Keys of different routes are different. */
  route: string;
  key: string;
  hash: string;
}

/** The keys of a workspace or an agency. */
export interface KeyStore {
  readonly ownerId: string;
  /** @returns the stored response if the key was used before; `response` is null if it was erased. */
  claim(request: IdempotentRequest): Promise<StoredResponse | null>;
  store(request: IdempotentRequest, status: number, response: string): Promise<void>;
}

export const workspaceKeys = (db: TenantDb): KeyStore => ({
  ownerId: db.workspaceId,
  async claim({ route, key, hash }) {
    const { workspaceId } = db;
    const stored = await claimIdempotencyKeys(db, route, [{ workspaceId, key, requestHash: hash }]);
    return stored.get(workspaceId)?.get(key) ?? null;
  },
  store: ({ route, key }, status, response) =>
    storeResponses(db, route, [{ workspaceId: db.workspaceId, key, status, response }]),
});

export const agencyKeys = (db: SystemDb, agencyId: string): KeyStore => ({
  ownerId: agencyId,
  claim: (request) => claimAgencyIdempotencyKey(db, agencyId, request),
  store: (request, status, response) => storeAgencyResponse(db, agencyId, request, { status, response }),
});

/**
 * Runs a handler once per `Idempotency-Key`. The key, the effect and the response are committed together. Error
 * responses are not stored, so the key can be used again. Stored responses are encrypted, because some contain a key or
 * a signing secret.
 */
export async function withIdempotencyKey(
  keys: KeyStore,
  request: IdempotentRequest,
  secrets: SecretBox,
  handle: () => Promise<HandlerResult>,
): Promise<HandlerResult> {
  const { route, key, hash } = request;
  if (key === '') return handle();
  requireHeaderLength('Idempotency-Key', key, MAX_KEY_LENGTH);
  const context = secretContext('idempotency', keys.ownerId, `${route} ${key}`);
  const earlier = await keys.claim(request);
  if (earlier) {
    if (earlier.requestHash !== hash) throw new ApiError('IDEMPOTENCY_KEY_REUSED');
    if (earlier.response === null) throw new ApiError('CONTACT_ERASED');
    const body: unknown = parseOwnJson(secrets.open(z.string().parse(earlier.response), context));
    return { status: earlier.status, body, headers: { 'Idempotent-Replayed': 'true' } };
  }
  const answer = await handle();
  await keys.store(request, answer.status, secrets.seal(JSON.stringify(answer.body), context));
  return answer;
}
