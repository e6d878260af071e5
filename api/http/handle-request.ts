import type { Context } from 'koa';
import type { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import {
  type SystemTransaction,
  type TenantDb,
  withSystemShare,
  withTenant,
  withTenantReads,
} from '#db/connection/transactions.ts';
import { requireRoom } from '#db/queries/accounts/limits.ts';
import type { Caller } from '#domain/accounts/caller.ts';
import { modeOf } from '#domain/test-mode/test-mode.ts';
import type { Services } from '../services.ts';
import { ApiError, ClientGone } from './errors.ts';
import { auditedTargets, auditRecorder } from './audit.ts';
import { dispatch, type OwnRequest } from './dispatch.ts';
import {
  agencyKeys,
  type IdempotentRequest,
  requestHash,
  withIdempotencyKey,
  workspaceKeys,
} from './idempotency.ts';
import { parse, parseAnswerInTurns, parseInTurns } from './parse.ts';
import type { HandlerResult, TenantRoute } from './route.ts';

/** Validates a request, runs its handler in the caller's transaction, and validates the response. */
export async function handleRequest(
  route: TenantRoute,
  caller: Caller,
  context: Context,
  body: unknown,
  authenticate: () => Promise<unknown>,
  services: Services,
): Promise<HandlerResult> {
  requireMode(route, caller);
  const parsed = {
    params: route.params && parse(route.params, context['params'], () => new ApiError('NOT_FOUND')),
    query: route.query && parse(route.query, parameters(context)),
    body: route.body && (await parseInTurns(route.body, body, { isUpdate: route.method === 'PATCH' })),
  };
  const audit = auditRecorder(route.audit, caller, parsed.body);
  const request = {
    ...services,
    ...parsed,
    caller,
    audit,
    now: currentTime(),
    header: (name: string) => context.get(name),
    raw: context.req,
    authenticate,
    dispatch: (own: OwnRequest) => dispatch(context, own),
  };
  const handle = async (db?: TenantDb | SystemTransaction): Promise<HandlerResult> => {
    if (route.adds && db) await requireRoom(db as TenantDb, route.adds);
    const answer = await (route.handler as unknown as Handler)({ ...request, db });
    if (route.audit && db)
      await audit(db, auditedTargets(route.audit, caller, { ...parsed, answer: answer.body }));
    return answer;
  };

  await (route.check as Check | undefined)?.(request);
  // The same key for another resource is another request: the same lead may be added to each campaign once.
  const target = [route.id, ...Object.values(context['params'] as Record<string, string>)].join(' ');
  const key = route.idempotent ? context.get('idempotency-key') : '';
  const keyed = { route: target, key, hash: key === '' ? '' : await requestHash(body) };
  const { heavy = false } = route;
  const isHeavy = typeof heavy === 'boolean' ? heavy : (heavy as IsHeavy)(parsed.query);
  const read = isHeavy ? { signal: untilGone(context) } : null;
  const answer = await inTransaction(route, { caller, keyed, read }, services, handle);
  return { ...answer, body: await parseAnswer(route, answer) };
}

/** @throws TEST_MODE_ONLY, LIVE_MODE_ONLY */
function requireMode({ mode }: TenantRoute, caller: Caller): void {
  if (mode === undefined || caller.kind === 'agency' || mode === modeOf(caller.workspace)) return;
  throw new ApiError(mode === 'test' ? 'TEST_MODE_ONLY' : 'LIVE_MODE_ONLY');
}

/** A handler without the types of its route's schemas. */
type Handler = (context: object) => Promise<HandlerResult>;
type Check = (context: object) => Promise<void>;
type IsHeavy = (query: unknown) => boolean;

async function inTransaction(
  route: TenantRoute,
  { caller, keyed, read }: { caller: Caller; keyed: IdempotentRequest; read: { signal: AbortSignal } | null },
  { pools, secrets }: Services,
  handle: (db?: TenantDb | SystemTransaction) => Promise<HandlerResult>,
): Promise<HandlerResult> {
  if (route.transaction === false) return handle();
  if (caller.kind === 'agency') {
    const agencyId = caller.agency.id;
    return withSystemShare(pools, agencyId, (db) =>
      withIdempotencyKey(agencyKeys(db, agencyId), keyed, secrets, () => handle(db)),
    );
  }
  const work = (db: TenantDb): Promise<HandlerResult> =>
    withIdempotencyKey(workspaceKeys(db), keyed, secrets, () => handle(db));
  const { id } = caller.workspace;
  return read ? withTenantReads(pools, id, work, read.signal) : withTenant(pools, id, work);
}

/** Aborted when the client hangs up before it has the response, as the console does with the search before the last key. */
function untilGone({ res }: Context): AbortSignal {
  const gone = new AbortController();
  const hangUp = (): void => void (res.writableFinished || gone.abort(new ClientGone()));
  if (res.closed) hangUp();
  else res.once('close', hangUp);
  return gone.signal;
}

/** The query without `__proto__`, which validation would refuse although no route declares it. */
function parameters({ query }: Context): Record<string, unknown> {
  const { ['__proto__']: _, ...others } = query;
  return others;
}

/** Drops undeclared fields. An undeclared status is a bug. */
async function parseAnswer(route: TenantRoute, { status, body }: HandlerResult): Promise<unknown> {
  const schema = (route.responses as Record<number, z.ZodType | undefined>)[status];
  if (!schema) throw new Error(`${route.id} responded ${status}, which it does not declare`);
  return parseAnswerInTurns(schema, body);
}
