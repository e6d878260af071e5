import { LinepaceConnectionError } from './errors.ts';
import { IDEMPOTENT } from './generated/facts.gen.ts';

export interface TransportOptions {
  fetch: typeof fetch;
  /** How often a request is repeated after a failure that may pass. */
  maxRetries: number;
  /** For each attempt, until the response's headers arrive. */
  timeoutMs: number;
}

const RETRIED_STATUSES = new Set([408, 429, 500, 502, 503, 504]);
/** The server has changed nothing and says when to come back. */
const REFUSED_STATUSES = new Set([429, 503]);
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 8000;
/** A longer `Retry-After` is the caller's decision. */
const LONGEST_RETRY_AFTER_MS = 60_000;

const IDEMPOTENT_PATHS = IDEMPOTENT.filter((operation) => operation.startsWith('POST ')).map(
  (operation) => new RegExp(`${operation.slice('POST '.length).replace(/\{\w+\}/g, '[^/]+')}$`),
);

/**
 * A `fetch` that repeats what failed for a moment, and nothing that might happen twice: each request that creates something
 * gets one `Idempotency-Key` for all attempts, and other `POST`s are repeated only if the server has refused them.
 */
export function retryingFetch({ fetch, maxRetries, timeoutMs }: TransportOptions): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const isCreated = request.method === 'POST' && acceptsKey(request);
    if (isCreated && !request.headers.has('Idempotency-Key'))
      request.headers.set('Idempotency-Key', crypto.randomUUID());
    const isSafe = request.method !== 'POST' || isCreated;

    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt === maxRetries;
      const outcome = await send(request.clone()).catch((error: unknown) => ({ error }));
      if (!('error' in outcome)) {
        const mayRetry = isSafe ? RETRIED_STATUSES : REFUSED_STATUSES;
        const delay = delayOf(attempt, outcome.headers.get('Retry-After'));
        if (isLast || !mayRetry.has(outcome.status) || delay === null) return outcome;
        await outcome.body?.cancel();
        await pause(delay, request.signal);
      } else {
        request.signal.throwIfAborted();
        if (isLast || !isSafe)
          throw new LinepaceConnectionError(`No response to ${request.method} ${routeOf(request)}`, {
            cause: outcome.error,
          });
        await pause(backoff(attempt), request.signal);
      }
    }
  };

  function send(request: Request): Promise<Response> {
    const deadline = new AbortController();
    const timer = setTimeout(
      () => deadline.abort(new Error(`no response within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const signal = AbortSignal.any([request.signal, deadline.signal]);
    return fetch(request, { signal }).finally(() => clearTimeout(timer));
  }
}

/** Its path without ids and the addresses of contacts, because errors end up in logs. */
const routeOf = ({ url }: Request): string =>
  new URL(url).pathname.replaceAll(/(?<=\/)(?![a-z-]+(?:\/|$))[^/]+/g, '{}');

const acceptsKey = ({ url }: Request): boolean => {
  const { pathname } = new URL(url);
  return IDEMPOTENT_PATHS.some((path) => path.test(pathname));
};

/** @returns null if the server asks for a pause that is too long to wait here. */
function delayOf(attempt: number, retryAfter: string | null): number | null {
  if (retryAfter === null) return backoff(attempt);
  const seconds = Number(retryAfter);
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter) - Date.now() : seconds * 1000;
  if (Number.isNaN(ms)) return backoff(attempt);
  return ms > LONGEST_RETRY_AFTER_MS ? null : Math.max(0, ms);
}

/** Doubles with each attempt; random, so that many clients do not come back at once. In milliseconds. */
export function backoff(attempt: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** Waits, or rejects as soon as the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}
