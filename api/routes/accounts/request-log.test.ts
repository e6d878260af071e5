import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { NewRequestRow } from '#db/queries/accounts/request-log.ts';
import { newId, newWorkspaceId } from '#domain/base/ids.ts';
import { type AnsweredRequest, createRequestLog, type RequestLog } from './request-log.ts';

const workspaceId = newWorkspaceId();
const request = (changes: Partial<AnsweredRequest> = {}): AnsweredRequest => ({
  caller: callerOf('key_1'),
  route: { method: 'POST', path: '/api/messages' },
  isBulk: false,
  status: 201,
  code: null,
  requestId: newId(),
  ms: 3,
  ...changes,
});
const callerOf = (id: string): AnsweredRequest['caller'] => ({
  kind: 'workspace',
  via: 'key',
  actor: { type: 'key', id, name: 'CI' },
  key: null,
  userId: null,
  role: null,
  workspace: {
    id: workspaceId,
    agencyId: null,
    timezone: 'UTC',
    country: 'US',
    liveWorkspaceId: null,
    billingMode: 'card',
    subscriptionStatus: 'active',
    keepsDripsQuiet: false,
    suspended: false,
  },
});
const drip = (changes: Partial<AnsweredRequest> = {}): AnsweredRequest =>
  request({ route: { method: 'POST', path: '/api/drip' }, isBulk: true, status: 202, ...changes });

let written: NewRequestRow[];
let isAway: boolean;
let dropped: number;
let warnings: number;
let log: RequestLog;
beforeEach(() => {
  [written, isAway, dropped, warnings] = [[], false, 0, 0];
  log = createRequestLog(
    async (rows) => {
      if (isAway) throw new Error('the database is away');
      written.push(...rows);
    },
    { warn: () => void (warnings += 1) },
    { inc: () => void (dropped += 1) },
  );
});

describe('the log of requests', () => {
  it('keeps each request in order, and nothing of an agency', async () => {
    const given = [request(), request({ status: 404, code: 'NOT_FOUND', ms: 12.6 })];
    for (const one of given) log.record(one);
    const agency = { id: 'agency_1', isActive: true, billingMode: 'card' } as const;
    const { actor } = callerOf('key_1');
    log.record(request({ caller: { kind: 'agency', via: 'key', actor, agency, userId: null, role: null } }));
    expect(written).toEqual([]);
    await log.close();
    expect(written.map(({ requestId }) => requestId)).toEqual(given.map(({ requestId }) => requestId));
    expect(written[1]).toMatchObject({ workspaceId, code: 'NOT_FOUND', durationMs: 13, count: 1 });
  });

  it('has one row for what a key sends to bulk intake at once, and one for each that is refused', async () => {
    for (let sent = 0; sent < 1000; sent += 1) log.record(drip({ ms: sent === 500 ? 40 : 2 }));
    log.record(drip({ caller: callerOf('key_2') }));
    for (let sent = 0; sent < 2; sent += 1) log.record(drip({ status: 429, code: 'RATE_LIMITED' }));
    await log.close();
    expect(
      written.map(({ actorId, status, count, durationMs }) => [actorId, status, count, durationMs]),
    ).toEqual([
      ['key_1', 202, 1000, 40],
      ['key_2', 202, 1, 3],
      ['key_1', 429, 1, 3],
      ['key_1', 429, 1, 3],
    ]);
    log.record(drip());
    await log.close();
    expect(written.at(-1)?.count).toBe(1);
  });

  it('writes again after its time only, however long a write takes', async () => {
    vi.useFakeTimers();
    const writes: PromiseWithResolvers<void>[] = [];
    const slow = createRequestLog(
      (rows) => {
        written.push(...rows);
        const write = Promise.withResolvers<void>();
        writes.push(write);
        return write.promise;
      },
      { warn() {} },
      { inc() {} },
    );
    slow.record(drip());
    await vi.advanceTimersByTimeAsync(2000);
    for (const _ of [1, 2]) slow.record(drip());
    writes[0]?.resolve();
    await vi.advanceTimersByTimeAsync(1000);
    slow.record(drip());
    expect(writes).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(written.map(({ count }) => count)).toEqual([1, 3]);
    vi.useRealTimers();
  });

  it('waits for a database that is away, and counts what it has no room for', async () => {
    vi.useFakeTimers();
    isAway = true;
    for (let sent = 0; sent < 10_003; sent += 1) log.record(request());
    await vi.advanceTimersByTimeAsync(2000);
    expect([written.length, dropped, warnings]).toEqual([0, 3, 1]);
    isAway = false;
    await vi.advanceTimersByTimeAsync(2000);
    expect([written.length, dropped, warnings]).toEqual([10_000, 3, 1]);
    expect(new Set(written.map(({ id }) => id)).size).toBe(10_000);
    vi.useRealTimers();
  });
});
