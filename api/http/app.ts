import type { RequestListener } from 'node:http';
import Router from '@koa/router';
import Koa from 'koa';
import type { Services } from '../services.ts';
import { accessLog, requestId } from './access-log.ts';
import { proxySettings } from './client-address.ts';
import { errorResponses } from './error-responses.ts';
import { ApiError } from './errors.ts';
import { composed, type Exchange, type FrequentRoute, type Middleware, withoutKoa } from './exchange.ts';
import { INTAKE } from './rate-limits.ts';
import { requestSpan } from './request-span.ts';
import type { Route } from './route.ts';
import { securityHeaders } from './security-headers.ts';
import { answerTenant } from './tenant-route.ts';

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
    errorResponses(services),
  ];
  const fixed: FixedRoutes = new Map();
  /** The routes that are called so often that the framework would be the largest cost. */
  const frequent: FrequentRoute[] = [];
  for (const route of routes) {
    const handle: Koa.Middleware = async (context) => {
      context.state['route'] = route;
      context['params'] ??= {};
      await (route.caller === 'anyone'
        ? route.respond(context, services)
        : answerTenant(route, context, services));
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
    return route.limit === INTAKE ? (exchange) => answerTenant(route, exchange, services) : null;
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
