import { randomUUID } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import type { Caller } from '#domain/accounts/caller.ts';
import type { Services } from '../services.ts';
import type { ErrorCode } from './errors.ts';
import { INTAKE } from './rate-limits.ts';
import type { Route } from './route.ts';

/** What the middleware knows about a request. */
export interface RequestState {
  requestId: string;
  route?: Route;
  caller?: Caller;
  /** The code of the error with which it ended. */
  code?: ErrorCode;
}

export async function requestId(context: Context, next: () => Promise<void>): Promise<void> {
  const given = context.get('x-request-id');
  // Any visible ASCII character, because some callers use base64 or paths as ids.
  const id = /^[!-~]{1,200}$/.test(given) ? given : randomUUID();
  context.state['requestId'] = id;
  context.set('X-Request-Id', id);
  await next();
}

/** Logs the route instead of the URL, which can contain phone numbers and other personal data. */
export function accessLog({ logger, metrics, requestLog }: Services): Middleware {
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
