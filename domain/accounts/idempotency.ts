export interface KeyedRequest {
  /** '' if the request has none. */
  idempotencyKey: string;
  requestHash: string;
}

/** The response to an earlier request with the same key. */
export interface StoredResponse {
  requestHash: string;
  status: number;
  response: unknown;
}

/** The decision about one request of a batch. */
export type KeyDecision<Value> =
  | { kind: 'accepted'; value: Value }
  /** The same as an earlier request of the batch, which was accepted with this value. */
  | { kind: 'repeated'; value: Value }
  /** The same as a request before this batch. */
  | { kind: 'stored'; response: unknown }
  /** The key was used with another request. */
  | { kind: 'conflict' }
  | { kind: 'refused'; error: Error };

/**
 * Decides which requests of a batch are processed: one per key, and all requests without a key. A refused request does not
 * use up its key.
 * @param process returns the value of a request, or the reason for its refusal.
 */
export function decideByKey<Request extends KeyedRequest, Value extends object>(
  batch: readonly Request[],
  stored: ReadonlyMap<string, StoredResponse>,
  process: (request: Request) => Value | Error,
): Map<Request, KeyDecision<Value>> {
  const accepted = new Map<string, { requestHash: string; value: Value }>();

  function decide(request: Request): KeyDecision<Value> {
    const { idempotencyKey: key, requestHash } = request;
    const earlier = stored.get(key) ?? accepted.get(key);
    if (earlier && earlier.requestHash !== requestHash) return { kind: 'conflict' };
    if (earlier) {
      return 'value' in earlier
        ? { kind: 'repeated', value: earlier.value }
        : { kind: 'stored', response: earlier.response };
    }
    const value = process(request);
    if (value instanceof Error) return { kind: 'refused', error: value };
    if (key !== '') accepted.set(key, { requestHash, value });
    return { kind: 'accepted', value };
  }

  return new Map(batch.map((request) => [request, decide(request)]));
}
