import type { RequestListener } from 'node:http';
import Router from '@koa/router';
import Koa from 'koa';
import type { Services } from '../services.ts';
import { accessLog, requestId } from './access-log.ts';
import { proxySettings } from './client-address.ts';
import { errorResponses } from './error-responses.ts';
import { ApiError } from './errors.ts';
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
  const fixed: FixedRoutes = new Map();
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
    const path = route.path.replace('{*path}', '*path').replaceAll(/\{(\w+)\}/g, ':$1');
    router.register(path, [route.method], [handle]);
  }
  app.use(securityHeaders(services.config.publicUrl));
  app.use(requestId);
  app.use(requestSpan);
  app.use(accessLog(services));
  app.use(errorResponses(services));
  const refuse = unmatched(router, fixed);
  app.use((context, next) => {
    const methods = fixed.get(pathOf(context));
    const handle = methods?.get(context.method);
    if (handle) return handle(context, next);
    // Otherwise a parameter of another path would match it. The router answers HEAD like GET.
    return methods && context.method !== 'HEAD' ? refuse(context, next) : next();
  });
  app.use(router.routes());
  app.use(refuse);
  app.on('error', failedResponse(services));
  return app;
}

/** @throws NOT_FOUND for a target that is no URL, such as `http://[`. */
function pathOf(context: Koa.Context): string {
  try {
    return context.path;
  } catch {
    throw noSuchEndpoint();
  }
}

const noSuchEndpoint = (): ApiError => new ApiError('NOT_FOUND', 'There is no such endpoint');

/** The errors caused by a client that disconnects before the end of the request or the response, or whose body is not HTTP. */
const IS_OF_CLIENT = /^(?:ERR_STREAM_PREMATURE_CLOSE|ECONNRESET|EPIPE|HPE_\w+)$/;

/** Called when a response fails after it has started. */
function failedResponse({ logger }: Services): (error: NodeJS.ErrnoException, context?: Koa.Context) => void {
  return (error, context) => {
    const route = (context?.state['route'] as Route | undefined)?.id;
    const { requestId } = context?.state ?? {};
    if (!IS_OF_CLIENT.test(error.code ?? '')) logger.error({ requestId, route, error }, 'response failed');
  };
}

function unmatched(router: Router, fixed: FixedRoutes): Koa.Middleware {
  return async (context) => {
    const matching = () => router.match(context.path, context.method).path.flatMap(({ methods }) => methods);
    const methods = new Set<string>(fixed.get(context.path)?.keys() ?? matching());
    methods.delete('HEAD');
    if (methods.size === 0) throw noSuchEndpoint();
    context.set('Allow', [...methods].join(', '));
    throw new ApiError('METHOD_NOT_ALLOWED', `${context.method} is not allowed here`);
  };
}
