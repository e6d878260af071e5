import type { Dispatcher } from 'undici';
import { isOver, TooLate } from './time-limit.ts';

/** `error` is null if the response is complete or was truncated at the size limit. */
export interface Exchange {
  status: number | null;
  error: unknown;
  /** False: no byte of the request was written to a connection. */
  connected: boolean;
  body: string;
  /** The header `Retry-After`, where it matters to the caller. */
  retryAfter?: string | null;
}

/** The server, or a proxy in front of it, takes no request of this size. It was not passed on. */
export const isTooLarge = ({ status }: Pick<Exchange, 'status'>): boolean =>
  status === 413 || status === 414 || status === 431;

/**
 * Sends one request and reads its response up to `maxResponseBytes`. undici's `request` does not report whether a
 * request was written to a connection, and does not abort a request that waits for a connection.
 */
export async function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
  maxResponseBytes: number,
): Promise<Exchange> {
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  const chunks: Buffer[] = [];
  let size = 0;
  let status: number | null = null;
  let connected = false;
  let controller: Dispatcher.DispatchController | null = null;

  function settle(error: unknown): void {
    signal.removeEventListener('abort', giveUp);
    const body = Buffer.concat(chunks).subarray(0, maxResponseBytes).toString('utf8');
    // Who does not read a large request to its end may close the connection before its response is read.
    resolve({ status, error: isTooLarge({ status }) ? null : error, connected, body });
  }
  function giveUp(): void {
    settle(signal.reason);
    controller?.abort(signal.reason);
  }
  signal.addEventListener('abort', giveUp, { once: true });

  dispatcher.dispatch(request, {
    onRequestStart(started) {
      // It ended while connecting: nothing has been written yet.
      if (isOver(signal)) return started.abort(signal.reason ?? new TooLate());
      controller = started;
      connected = true;
    },
    onResponseStart(_controller, statusCode) {
      // Skip informational responses (1xx).
      if (statusCode >= 200) status = statusCode;
    },
    onResponseData(reading, chunk) {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= maxResponseBytes) return;
      settle(null);
      reading.abort(new Error('the response exceeds the size limit'));
    },
    onResponseEnd: () => settle(null),
    onResponseError: (_controller, error) => settle(error),
  });
  return promise;
}
