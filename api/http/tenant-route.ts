import type { Context } from 'koa';
import type { Caller } from '#domain/accounts/caller.ts';
import { acceptsSends } from '#domain/billing/entitlement.ts';
import { LimitReached } from '#domain/accounts/limits.ts';
import { modeOf } from '#domain/test-mode/test-mode.ts';
import { isTestFull } from '#db/commands/test-mode/twin.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { inWorkspaceTime } from '#db/connection/workspace-clock.ts';
import { authenticate } from '../auth/authenticate.ts';
import { BACKGROUND_HEADER, SESSION_HEADER } from '../auth/user-sessions.ts';
import type { Services } from '../services.ts';
import { readBody } from './body.ts';
import { clientAddress, clientIp } from './client-address.ts';
import { ApiError } from './errors.ts';
import { serializeInTurns } from './parse.ts';
import { furtherPoints, INTAKE } from './rate-limits.ts';
import { requireWritable } from './read-only.ts';
import { handleRequest } from './handle-request.ts';
import type { HandlerResult, TenantRoute } from './route.ts';
import { chargeUnsubscribed } from './unsubscribed.ts';

const DEFAULT_LIMIT = { requests: 120, seconds: 60 };

/** Answers a request to a route of a workspace or an agency. */
export async function answerTenant(route: TenantRoute, context: Context, services: Services): Promise<void> {
  // Nearly all responses contain personal data, and some a key or secret that is shown only once.
  context.set('Cache-Control', 'no-store');
  const request = credentialsOf(route, context);
  const caller = await authenticate(route, request, services);
  const limit = route.limit === undefined ? DEFAULT_LIMIT : route.limit;
  const payer = caller.kind === 'workspace' ? caller.workspace.id : caller.agency.id;
  if (limit === INTAKE) await services.rateLimits.consumeIntake(payer);
  else if (limit) context.set(await services.rateLimits.consume(route.id, payer, limit));
  requireSubscription(route, caller);

  const admit = async (size: number): Promise<void> => {
    const points = limit === INTAKE ? furtherPoints(size) : 0;
    if (points > 0) await services.rateLimits.consumeIntake(payer, points);
    await chargeUnsubscribed(services, caller, 1 + Math.floor(size / 1024));
  };
  const { maxValues, csvField } = route;
  const body = route.body ? await readBody(context, { maxValues, admit, csvField }) : undefined;
  if (!route.body && route.method !== 'GET') await chargeUnsubscribed(services, caller, 1);
  // An open stream does not count as use of the session.
  const authenticateAgain = () => authenticate(route, { ...request, inBackground: true }, services);
  const answer = () => handleRequest(route, caller, context, body, authenticateAgain, services);
  const isTest = caller.kind === 'workspace' && modeOf(caller.workspace) === 'test';
  const reply = await (isTest ? inTestMode(route, caller.workspace.id, services, answer) : answer()).finally(
    () => {
      // The next request must see a change of a key or a workspace. Routes without a limit change neither.
      if (limit && limit !== INTAKE && route.method !== 'GET')
        services.callers.forget(caller.kind === 'workspace' ? caller.workspace.id : undefined);
    },
  );
  await send(reply, route, context);
}

/** What authentication needs to know of a request. */
const credentialsOf = (route: TenantRoute, context: Context) => ({
  authorization: context.get('authorization'),
  path: context.path,
  cookies: context.get('cookie'),
  sessionId: context.get(SESSION_HEADER),
  inBackground: context.get(BACKGROUND_HEADER) !== '',
  client: () => clientAddress(context),
  ip: () => clientIp(context),
  agencyId: context.get('x-agency-id'),
  workspaceId: namedWorkspace(route, context),
  identified: (known: Caller) => void (context.state['caller'] = known),
});

/** The header works for every route, the query for those that declare it; '' if neither is there. */
function namedWorkspace(route: TenantRoute, context: Context): string {
  const header = context.get('x-workspace-id');
  if (header !== '' || !route.ofClients) return header;
  return [context.query['workspaceId']].flat()[0] ?? '';
}

/** @throws WORKSPACE_SUSPENDED, READ_ONLY, SUBSCRIPTION_REQUIRED */
function requireSubscription(route: TenantRoute, caller: Caller): void {
  if (caller.kind !== 'workspace') return;
  if (route.method !== 'GET' && !route.openWhenReadOnly) requireWritable(caller);
  if (route.needsSubscription && !acceptsSends(caller.workspace)) throw new ApiError('SUBSCRIPTION_REQUIRED');
}

/** Answers in the time of a workspace in test mode, if it has room. */
function inTestMode<T>(
  { needsSubscription }: TenantRoute,
  workspaceId: string,
  { pools }: Services,
  answer: () => Promise<T>,
): Promise<T> {
  return inWorkspaceTime(workspaceId, async () => {
    // Reads the clock as well.
    await withTenant(pools, workspaceId, async (db) => {
      if (needsSubscription && (await isTestFull(db))) throw new LimitReached('testMessages');
    });
    return answer();
  });
}

async function send(
  { status, headers = {}, body }: HandlerResult,
  route: TenantRoute,
  context: Context,
): Promise<void> {
  context.status = status;
  context.set(headers);
  const bytes = route.produces === undefined ? await serializeInTurns(body) : undefined;
  context.body = bytes ?? body;
  if (bytes !== undefined) context.type = 'application/json';
  if (route.produces !== undefined) context.type = headers['Content-Type'] ?? route.produces;
}
