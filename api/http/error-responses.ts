import type { Context, Middleware } from 'koa';
import { LimitReached } from '#domain/accounts/limits.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { isOverload } from '#db/connection/overload.ts';
import { StorageUnavailable } from '#providers/storage/storage.ts';
import type { Services } from '../services.ts';
import type { RequestState } from './access-log.ts';
import { ApiError, ClientGone } from './errors.ts';
import { RateLimited } from './rate-limits.ts';
import { discardRest } from './upload.ts';

/** Includes the request id, because bug reports quote the body rather than the headers. */
const errorBody = (error: ApiError, context: Context): Record<string, unknown> => ({
  ...error.body,
  requestId: context.state['requestId'],
});

/** Nobody receives it: for metrics, as proxies count such requests. */
const CLIENT_GONE = 499;
/** Sent with 503. */
const RETRY_AFTER_SECONDS = 5;

/** The error that the response shows; null: it is not about the request. */
function shown(thrown: unknown): ApiError | null {
  if (thrown instanceof ApiError) return thrown;
  if (isOverload(thrown)) return new ApiError('UNAVAILABLE');
  if (thrown instanceof StorageUnavailable)
    return new ApiError('UNAVAILABLE', 'The file store is unavailable; try again');
  if (thrown instanceof LimitReached) {
    const { message, limit, max } = thrown;
    return new ApiError('LIMIT_REACHED', message, { limit, max });
  }
  if (thrown instanceof Refusal) {
    const { code, field, message, details } = thrown;
    if (field === null) return new ApiError(code, message || undefined, details);
    return new ApiError(code, `${field}: ${message}`, { issues: [{ path: field, message }], ...details });
  }
  return null;
}

function headersOf(thrown: unknown, { status }: ApiError): Record<string, string> {
  if (thrown instanceof RateLimited) return thrown.headers;
  if (thrown instanceof LimitReached && thrown.retryAfter !== null)
    return { 'Retry-After': String(thrown.retryAfter) };
  if (status === 401) return { 'WWW-Authenticate': 'Bearer' };
  return status === 503 ? { 'Retry-After': String(RETRY_AFTER_SECONDS) } : {};
}

/** Errors about the caller rather than the request. */
const REFUSALS: readonly number[] = [403, 429];

function recordRefusal(context: Context, { status, code }: ApiError, services: Services): void {
  const { caller, route } = context.state as RequestState;
  if (caller && route && REFUSALS.includes(status)) services.refusedRequests.record(caller, route.id, code);
}

/** Responds to errors. Those that are not about the request are logged, and the response does not reveal them. */
export function errorResponses(services: Services): Middleware {
  const { logger } = services;
  return async (context, next) => {
    try {
      await next();
    } catch (thrown) {
      const route = (context.state as RequestState).route?.id;
      if (thrown instanceof ClientGone) return void (context.status = CLIENT_GONE);
      if (isOverload(thrown)) logger.warn({ route, error: thrown }, 'overloaded');
      if (thrown instanceof StorageUnavailable)
        logger.error({ route, error: thrown }, 'the file store failed');
      if (!context.req.readableFlowing) discardRest(context.req);
      const error = shown(thrown) ?? new ApiError('INTERNAL_ERROR');
      if (error.code === 'INTERNAL_ERROR') logger.error({ route, error: thrown }, 'request failed');
      recordRefusal(context, error, services);
      context.state['code'] = error.code;
      context.set(headersOf(thrown, error));
      context.status = error.status;
      context.body = errorBody(error, context);
    }
  };
}
