import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import Router from '@koa/router';
import Koa from 'koa';
import type { Caller } from '#domain/caller.ts';
import { LimitReached } from '#domain/limits.ts';
import { modeOf } from '#domain/test-mode.ts';
import { isTestFull } from '#db/commands/test-mode/twin.ts';
import { isOverload } from '#db/overload.ts';
import { withTenant } from '#db/transactions.ts';
import { inWorkspaceTime } from '#db/workspace-clock.ts';
import { authenticate } from '../auth/authenticate.ts';
import { BACKGROUND_HEADER, SESSION_HEADER } from '../auth/user-sessions.ts';
import type { Services } from '../services.ts';
import { readBody } from './body.ts';
import { clientAddress, clientIp, proxySettings } from './client-address.ts';
import { ApiError, type ErrorCode } from './errors.ts';
import { composed, type Exchange, type FrequentRoute, type Middleware, withoutKoa } from './exchange.ts';
import { stringifyInTurns } from './parse.ts';
import { requestSpan } from './request-span.ts';
import { furtherPoints, INTAKE, RateLimited } from './rate-limits.ts';
import { respond } from './respond.ts';
import { securityHeaders } from './security-headers.ts';
import type { PublicRoute, Route, TenantRoute } from './route.ts';
import { discardRest } from './upload.ts';

/** The handlers of routes without parameters, which need no search, by path and method. */
type FixedRoutes = Map<string, Map<string, Koa.Middleware>>;

/** The HTTP application: all declared routes behind the same middleware. */
export function createApp(routes: readonly Route[], services: Services): { callback(): RequestListener } {
  const app = new Koa(proxySettings(services.config.trustedProxies));
  const router = new Router({ sensitive: true });
  const middleware: readonly Middleware[] = [
    securityHeaders(services.config.publicUrl),
    requestId,
    requestSpan,
    accessLog(services),
    errors(services),
  ];
  const fixed: FixedRoutes = new Map();
  /** The routes that are called so often that the framework would be the largest cost. */
  const frequent: FrequentRoute[] = [];
  for (const route of routes) {
    const handle: Koa.Middleware = async (context) => {
      context.state['route'] = route;
      context['params'] ??= {};
      await (route.caller === 'anyone'
        ? publicRoute(route, context, services)
        : tenantRoute(route, context, services));
    };
    if (!route.path.includes('{'))
      fixed.set(route.path, (fixed.get(route.path) ?? new Map()).set(route.method, handle));
    const answer = frequentAnswer(route, services);
    if (answer) {
      const respond: Middleware = async (exchange) => {
        exchange.state['route'] = route;
        await answer(exchange);
      };
      frequent.push({ method: route.method, path: route.path, answer: composed([...middleware, respond]) });
    }
    const path = route.path.replace('{*path}', '*path').replaceAll(/\{(\w+)\}/g, ':$1');
    router.register(path, [route.method], [handle]);
  }
  for (const each of middleware) app.use(each);
  const refuse = unmatched(routes, fixed);
  app.use((context, next) => {
    const methods = fixed.get(context.path);
    const handle = methods?.get(context.method);
    if (handle) return handle(context, next);
    // Otherwise a parameter of another path would match it. The router answers HEAD like GET.
    return methods && context.method !== 'HEAD' ? refuse(context, next) : next();
  });
  app.use(router.routes());
  app.use(refuse);
  app.on('error', failedResponse(services));
  return { callback: () => withoutKoa(app, frequent) };
}

/** The handler of a frequent route for requests that do not need Koa; null: the route is not frequent. */
function frequentAnswer(route: Route, services: Services): ((exchange: Exchange) => Promise<void>) | null {
  if (route.caller !== 'anyone')
    return route.limit === INTAKE ? (exchange) => tenantRoute(route, exchange, services) : null;
  const { respondDirectly } = route;
  return respondDirectly ? (exchange) => respondDirectly(exchange, services) : null;
}

/** The errors caused by a client that disconnects before the end of the request or the response. */
const HUNG_UP = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE', 'HPE_INVALID_EOF_STATE']);

/** Called when a response fails after it has started. */
function failedResponse({ logger }: Services): (error: NodeJS.ErrnoException, context?: Koa.Context) => void {
  return (error, context) => {
    const route = (context?.state['route'] as Route | undefined)?.id;
    const { requestId } = context?.state ?? {};
    if (!HUNG_UP.has(error.code ?? '')) logger.error({ requestId, route, error }, 'response failed');
  };
}

async function publicRoute(route: PublicRoute, context: Koa.Context, services: Services): Promise<void> {
  await route.respond(context, services);
}

async function tenantRoute(route: TenantRoute, context: Exchange, services: Services): Promise<void> {
  // Nearly all responses contain personal data, and some a key or secret that is shown only once.
  context.set('Cache-Control', 'no-store');
  const request = {
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
  };
  const caller = await authenticate(route, request, services);
  const limit = route.limit === undefined ? DEFAULT_LIMIT : route.limit;
  const payer = caller.kind === 'workspace' ? caller.workspace.id : caller.agency.id;
  if (limit === INTAKE) await services.rateLimits.consumeIntake(payer);
  else if (limit) context.set(await services.rateLimits.consume(route.id, payer, limit));
  if (caller.kind === 'workspace' && route.method !== 'GET' && !route.openWhenReadOnly) {
    if (caller.workspace.subscriptionStatus === 'past_due') {
      throw new ApiError('READ_ONLY', undefined, { reason: 'past_due' });
    }
  }
  if (route.needsSubscription && caller.kind === 'workspace') {
    if (caller.workspace.subscriptionStatus === 'none') throw new ApiError('SUBSCRIPTION_REQUIRED');
  }
  const admit = async (size: number): Promise<void> => {
    if (limit === INTAKE && furtherPoints(size) > 0)
      await services.rateLimits.consumeIntake(payer, furtherPoints(size));
  };
  const body = route.body
    ? await readBody(context, { maxValues: route.maxValues, admit, csvField: route.csvField })
    : undefined;
  const again = () => authenticate(route, request, services);
  const answer = () => respond(route, caller, context, body, again, services);
  const reply = await (
    caller.kind === 'workspace' && modeOf(caller.workspace) === 'test'
      ? inTestMode(route, caller.workspace.id, services, answer)
      : answer()
  ).finally(() => {
    // The next request must see a change of a key or a workspace. Routes without a limit change neither.
    if (limit && limit !== INTAKE && route.method !== 'GET')
      services.callers.forget(caller.kind === 'workspace' ? caller.workspace.id : undefined);
  });
  context.status = reply.status;
  context.set(reply.headers ?? {});
  const text = route.produces === undefined ? await stringifyInTurns(reply.body) : undefined;
  context.body = text ?? reply.body;
  if (text !== undefined) context.type = 'application/json';
  if (route.produces !== undefined) context.type = route.produces;
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

/** The header works for every route, the query for those that declare it; '' if neither is there. */
function namedWorkspace(route: TenantRoute, context: Exchange): string {
  const header = context.get('x-workspace-id');
  if (header !== '' || !route.ofClients) return header;
  return [context.query['workspaceId']].flat()[0] ?? '';
}

const DEFAULT_LIMIT = { requests: 120, seconds: 60 };

async function requestId(context: Exchange, next: () => Promise<void>): Promise<void> {
  const given = context.get('x-request-id');
  // Any visible ASCII character, because some callers use base64 or paths as ids.
  const id = /^[!-~]{1,200}$/.test(given) ? given : randomUUID();
  context.state['requestId'] = id;
  context.set('X-Request-Id', id);
  await next();
}

/** What the middleware knows about a request. */
interface RequestState {
  requestId: string;
  route?: Route;
  caller?: Caller;
  /** The code of the error with which it ended. */
  code?: ErrorCode;
}

/** Logs the route instead of the URL, which can contain phone numbers and other personal data. */
function accessLog({ logger, metrics, requestLog }: Services): Middleware {
  return async (context, next) => {
    const started = performance.now();
    await next();
    const { route: called, caller, code = null, requestId } = context.state as RequestState;
    const route = called?.id ?? 'unmatched';
    const ms = performance.now() - started;
    const seconds = ms / 1000;
    if (caller && called && called.caller !== 'anyone')
      requestLog.record({
        caller,
        route: called,
        isBulk: called.limit === INTAKE,
        status: context.status,
        code,
        requestId,
        ms,
      });
    metrics.requests.inc({ route, method: context.method, status: context.status });
    metrics.duration.observe({ route, method: context.method }, seconds);
    logger.debug(
      {
        route,
        status: context.status,
        ms: Math.round(ms),
      },
      'request',
    );
  };
}

/** Includes the request id, because bug reports quote the body rather than the headers. */
const errorBody = (error: ApiError, context: Exchange): Record<string, unknown> => ({
  ...error.body,
  requestId: context.state['requestId'],
});

/** Sent with 503. */
const RETRY_AFTER_SECONDS = 5;

function translated(error: unknown): unknown {
  if (isOverload(error)) return new ApiError('UNAVAILABLE');
  if (!(error instanceof LimitReached)) return error;
  const { message, limit, max } = error;
  return new ApiError('LIMIT_REACHED', message, { limit, max });
}

/** Errors about the caller rather than the request. */
const REFUSALS: readonly number[] = [403, 429];

function recordRefusal(context: Exchange, { status, code }: ApiError, services: Services): void {
  const { caller, route } = context.state as RequestState;
  if (caller && route && REFUSALS.includes(status)) services.refusedRequests.record(caller, route.id, code);
}

function errors(services: Services): Middleware {
  const { logger } = services;
  return async (context, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = translated(thrown);
      if (isOverload(thrown))
        logger.warn(
          { route: (context.state['route'] as Route | undefined)?.id, error: thrown },
          'overloaded',
        );
      if (error instanceof RateLimited) context.set(error.headers);
      if (thrown instanceof LimitReached && thrown.retryAfter !== null)
        context.set('Retry-After', String(thrown.retryAfter));
      if (!context.req.readableFlowing) discardRest(context.req);
      if (error instanceof ApiError) {
        recordRefusal(context, error, services);
        context.state['code'] = error.code;
        context.status = error.status;
        context.body = errorBody(error, context);
        if (error.status === 401) context.set('WWW-Authenticate', 'Bearer');
        if (error.status === 503) context.set('Retry-After', String(RETRY_AFTER_SECONDS));
        return;
      }
      logger.error({ route: (context.state['route'] as Route | undefined)?.id, error }, 'request failed');
      const internal = new ApiError('INTERNAL_ERROR');
      context.state['code'] = internal.code;
      context.status = internal.status;
      context.body = errorBody(internal, context);
    }
  };
}

function unmatched(routes: readonly Route[], fixed: FixedRoutes): Koa.Middleware {
  const patterns = routes.map(({ method, path }) => ({
    method,
    pattern: new RegExp(
      `^${path
        .replaceAll('.', '\\.')
        .replace('{*path}', '.+')
        .replaceAll(/\{\w+\}/g, '[^/]+')}/?$`,
    ),
  }));
  return async (context) => {
    const matching = () => patterns.filter(({ pattern }) => pattern.test(context.path));
    const methods = new Set(fixed.get(context.path)?.keys() ?? matching().map(({ method }) => method));
    if (methods.size === 0) throw new ApiError('NOT_FOUND', `There is no ${context.path}`);
    context.set('Allow', [...methods].join(', '));
    throw new ApiError('METHOD_NOT_ALLOWED', `${context.method} is not allowed here`);
  };
}
