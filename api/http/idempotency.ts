import { createHash } from 'node:crypto';
import { z } from 'zod';
import { claimAgencyIdempotencyKey, storeAgencyResponse } from '#db/queries/agency-idempotency.ts';
import { claimIdempotencyKeys, storeResponses } from '#db/queries/idempotency.ts';
import type { SystemDb, TenantDb } from '#db/transactions.ts';
import { mapInTurns } from '#domain/turns.ts';
import { type SecretBox, secretContext } from '#providers/secret-box.ts';
import { ApiError, invalid } from './errors.ts';
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

/**
 * Runs a handler once per `Idempotency-Key`. The key, the effect and the response are committed together. Error
 * responses are not stored, so the key can be used again. Stored responses are encrypted, because some contain a key or
 * a signing secret.
 */
export async function withIdempotencyKey(
  db: TenantDb,
  { route, key, hash }: { route: string; key: string; hash: string },
  secrets: SecretBox,
  handle: () => Promise<HandlerResult>,
): Promise<HandlerResult> {
  if (key === '') return handle();
  checkLength(key);
  const { workspaceId } = db;
  const context = secretContext('idempotency', workspaceId, `${route} ${key}`);
  const stored = await claimIdempotencyKeys(db, route, [{ workspaceId, key, requestHash: hash }]);
  const earlier = stored.get(workspaceId)?.get(key);
  if (earlier) {
    if (earlier.requestHash !== hash) throw new ApiError('IDEMPOTENCY_KEY_REUSED');
    if (earlier.response === null) throw new ApiError('CONTACT_ERASED');
    const body: unknown = JSON.parse(secrets.open(z.string().parse(earlier.response), context));
    return { status: earlier.status, body, headers: { 'Idempotent-Replayed': 'true' } };
  }
  const answer = await handle();
  const response = secrets.seal(JSON.stringify(answer.body), context);
  await storeResponses(db, route, [{ workspaceId, key, status: answer.status, response }]);
  return answer;
}

/** Like `withIdempotencyKey`, for requests of an agency. */
export async function withAgencyIdempotencyKey(
  db: SystemDb,
  { agencyId, route, key, hash }: { agencyId: string; route: string; key: string; hash: string },
  secrets: SecretBox,
  handle: () => Promise<HandlerResult>,
): Promise<HandlerResult> {
  if (key === '') return handle();
  checkLength(key);
  const context = secretContext('idempotency', agencyId, `${route} ${key}`);
  const earlier = await claimAgencyIdempotencyKey(db, { agencyId, route, key, hash });
  if (earlier) {
    if (earlier.requestHash !== hash) throw new ApiError('IDEMPOTENCY_KEY_REUSED');
    const body: unknown = JSON.parse(secrets.open(earlier.responseSealed, context));
    return { status: earlier.status, body, headers: { 'Idempotent-Replayed': 'true' } };
  }
  const answer = await handle();
  const responseSealed = secrets.seal(JSON.stringify(answer.body), context);
  await storeAgencyResponse(db, { agencyId, route, key }, { status: answer.status, responseSealed });
  return answer;
}

function checkLength(key: string): void {
  if (key.length <= MAX_KEY_LENGTH) return;
  throw invalid('Idempotency-Key', `must be at most ${MAX_KEY_LENGTH} characters`);
}
