import type { Dispatcher } from 'undici';

/** An exchange's outcome. `error` is null when the answer is complete, or cut at the limit. */
export interface Exchange {
  status: number | null;
  error: unknown;
  /** False: no byte of the request was written to a connection. */
  connected: boolean;
  body: string;
}

/**
 * One request over the dispatcher, its answer read up to `maxResponseBytes`. The convenience calls of undici
 * do not tell whether a request reached a connection, and let one that waits for a connection outlive its
 * signal.
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
    resolve({ status, error, connected, body });
  }
  function giveUp(): void {
    settle(signal.reason);
    controller?.abort(signal.reason);
  }
  signal.addEventListener('abort', giveUp, { once: true });

  dispatcher.dispatch(request, {
    onRequestStart(started) {
      // Given up while it was connecting: aborted before anything is written.
      if (signal.aborted) return started.abort(signal.reason);
      controller = started;
      connected = true;
    },
    onResponseStart(_controller, statusCode) {
      // Informational answers (1xx) precede the one that counts.
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
