import type { Context as KoaContext } from 'koa';
import type { z } from 'zod';
import { currentTime } from '#domain/clock.ts';
import {
  type SystemTransaction,
  type TenantDb,
  withSystemShare,
  withTenant,
  withTenantReads,
} from '#db/transactions.ts';
import type { Caller } from '#domain/caller.ts';
import type { Services } from '../services.ts';
import { ApiError, fromZod, invalidFields } from './errors.ts';
import { auditedTargets, auditRecorder } from './audit.ts';
import { withIdempotencyKey, withAgencyIdempotencyKey, requestHash } from './idempotency.ts';
import type { HandlerResult, TenantRoute } from './route.ts';
import { unstorable } from './unstorable.ts';

/** Validates a request, runs its handler in the caller's transaction, and validates the response. */
export async function respond(
  route: TenantRoute,
  caller: Caller,
  koa: KoaContext,
  body: unknown,
  authenticate: () => Promise<unknown>,
  services: Services,
): Promise<HandlerResult> {
  const parsed = {
    params: parse(route.params, koa['params'], () => new ApiError('NOT_FOUND')),
    query: parse(route.query, { ...koa.query }),
    body: parse(route.body, body),
  };
  const audit = auditRecorder(route.audit, caller, parsed.body);
  const request = {
    ...services,
    ...parsed,
    caller,
    audit,
    now: currentTime(),
    header: (name: string) => koa.get(name),
    raw: koa.req,
    authenticate,
  };
  const handle = async (db?: TenantDb | SystemTransaction): Promise<HandlerResult> => {
    const answer = await (route.handler as unknown as Handler)({ ...request, db });
    if (route.audit && db)
      await audit(db, auditedTargets(route.audit, caller, { ...parsed, answer: answer.body }));
    return answer;
  };

  await (route.check as Check | undefined)?.(request);
  // The same key for another resource is another request: the same lead may be added to each campaign once.
  const target = [route.id, ...Object.values(koa['params'] as Record<string, string>)].join(' ');
  const key = route.idempotent ? koa.get('idempotency-key') : '';
  const keyed = { route: target, key, hash: key === '' ? '' : requestHash(body) };
  const answer = await inTransaction(route, caller, keyed, services, handle);
  return { ...answer, body: parseAnswer(route, answer) };
}

/** A handler without the types of its route's schemas. */
type Handler = (context: object) => Promise<HandlerResult>;
type Check = (context: object) => Promise<void>;

async function inTransaction(
  route: TenantRoute,
  caller: Caller,
  keyed: { route: string; key: string; hash: string },
  { pools, secrets }: Services,
  handle: (db?: TenantDb | SystemTransaction) => Promise<HandlerResult>,
): Promise<HandlerResult> {
  if (route.transaction === false) return handle();
  if (caller.kind === 'agency') {
    const agencyId = caller.agency.id;
    return withSystemShare(pools, agencyId, (db) =>
      withAgencyIdempotencyKey(db, { agencyId, ...keyed }, secrets, () => handle(db)),
    );
  }
  const transaction = route.heavy ? withTenantReads : withTenant;
  return transaction(pools, caller.workspace.id, (db) =>
    withIdempotencyKey(db, keyed, secrets, () => handle(db)),
  );
}

/** @throws VALIDATION_ERROR, or what `refusal` makes. */
export function parse(schema: z.ZodType | undefined, value: unknown, refusal?: () => ApiError): unknown {
  if (!schema) return undefined;
  const problem = unstorable(value);
  if (problem) throw refusal?.() ?? invalidFields([problem]);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw refusal?.() ?? fromZod(parsed.error);
}

/** Drops undeclared fields. An undeclared status is a bug. */
function parseAnswer(route: TenantRoute, { status, body }: HandlerResult): unknown {
  const schema = (route.responses as Record<number, z.ZodType | undefined>)[status];
  if (!schema) throw new Error(`${route.id} responded ${status}, which it does not declare`);
  return schema.parse(body);
}
