import { describe, expect, it } from 'vitest';
import { decideByKey, type KeyedRequest, type StoredResponse } from './idempotency.ts';

const request = (idempotencyKey: string, requestHash: string): KeyedRequest => ({
  idempotencyKey,
  requestHash,
});

/** The decisions in the order of the batch; a request with the hash `invalid` is refused. */
const decide = (batch: KeyedRequest[], stored: Record<string, StoredResponse> = {}) => [
  ...decideByKey(batch, new Map(Object.entries(stored)), (one) =>
    one.requestHash === 'invalid' ? new Error('refused') : { of: one },
  ).values(),
];

describe('decideByKey', () => {
  it('accepts every request without a key, even identical ones', () => {
    expect(decide([request('', 'a'), request('', 'a')]).map(({ kind }) => kind)).toEqual([
      'accepted',
      'accepted',
    ]);
  });

  it('accepts one request per key and gives its value to the repetitions', () => {
    const first = request('k', 'a');
    expect(decide([first, request('other', 'a'), request('k', 'a')])).toEqual([
      { kind: 'accepted', value: { of: first } },
      { kind: 'accepted', value: { of: request('other', 'a') } },
      { kind: 'repeated', value: { of: first } },
    ]);
  });

  it('returns the stored response for a key that was used before', () => {
    const stored = { k: { requestHash: 'a', status: 200, response: { id: 1 } } };
    expect(decide([request('k', 'a')], stored)).toEqual([{ kind: 'stored', response: { id: 1 } }]);
  });

  it('reports a conflict for a key that was used with a different request, earlier or in the same batch', () => {
    const stored = { k: { requestHash: 'a', status: 200, response: null } };
    const batch = [request('k', 'b'), request('new', 'a'), request('new', 'b')];
    expect(decide(batch, stored).map(({ kind }) => kind)).toEqual(['conflict', 'accepted', 'conflict']);
  });

  it('does not use up the key of a refused request', () => {
    const batch = [request('k', 'invalid'), request('k', 'a')];
    expect(decide(batch).map(({ kind }) => kind)).toEqual(['refused', 'accepted']);
  });
});
