import { beforeAll, expect, test } from 'vitest';
import { planSends } from '#db/commands/sending/send-plan.ts';
import { setSendNow } from '#db/queries/sending/line-orders.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { lineGapMs } from '#domain/sending/line-limits.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { lock, waitingForLocks } from '#test/support/locks.ts';

let app: TestApp;

// No worker: the test plans sends at times of its choice.
beforeAll(async () => void (app = await sharedApp({ worker: false })));

/** Longer than the gaps: no call is made, and a line stops whose carrier has not answered in time. */
const CARRIER_TIMEOUT_MS = 120_000;

/** A line with a gap and messages that are due. @returns its id, and what it plans at a time. */
async function busyLine(messages: readonly string[]) {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 20 });
  const api = apiClient(app.url, workspace.key);
  const ids: string[] = [];
  /** When the last of them is due. */
  let dueAt = 0;
  for (const message of messages) {
    const { status, body } = await api('POST', '/api/messages', {
      message,
      recipientPhone: phone(),
      fromLineId: lineId,
    });
    expect(status).toBe(201);
    ids.push(body._id);
    dueAt = Date.parse(body.scheduledDate);
  }
  const plan = (clock: () => Date) =>
    withTenant(app.pools, workspace.id, (db) => planSends(db, lineId, CARRIER_TIMEOUT_MS, clock));
  const planAt = async (ms: number) => {
    const planned = await plan(() => new Date(ms));
    return {
      sends: planned?.claims.map(({ message }) => message.body),
      nextAt: planned?.nextAt?.getTime(),
      resumesAt: planned?.resumesAt?.getTime(),
    };
  };
  const orderNow = (wanted: readonly string[]) =>
    withTenant(app.pools, workspace.id, (db) => setSendNow(db, lineId, wanted));
  return { lineId, ids, dueAt, plan, planAt, orderNow };
}

test('a plan that sends tells when the gap ends, unless nothing else is due', async () => {
  const { lineId, planAt } = await busyLine(['One', 'Two']);
  const start = Date.now() + 1000;
  const gapEnd = start + lineGapMs({ id: lineId, minGapSeconds: 20 }, new Date(start));

  expect(await planAt(start)).toEqual({ sends: ['One'], nextAt: start, resumesAt: gapEnd });
  // A plan in the gap finds what the one before has told.
  expect(await planAt(start + 1)).toEqual({ sends: [], nextAt: gapEnd, resumesAt: undefined });
  expect(await planAt(gapEnd)).toEqual({ sends: ['Two'], nextAt: gapEnd, resumesAt: undefined });
  expect(await planAt(gapEnd + 1)).toEqual({ sends: [], nextAt: undefined, resumesAt: undefined });
});

test('messages that an operator sends now do not wait for the end of the gap', async () => {
  const { ids, planAt, orderNow } = await busyLine(['One', 'Two', 'Three']);
  const start = Date.now() + 1000;
  await orderNow(ids.slice(1));

  expect(await planAt(start)).toEqual({ sends: ['Two'], nextAt: start, resumesAt: undefined });
  expect(await planAt(start + 1)).toMatchObject({ sends: ['Three'], nextAt: start + 1 });
  expect(await planAt(start + 2)).toMatchObject({ sends: [] });
});

test('a plan that waits for the line sends what has become due meanwhile', async () => {
  const { lineId, plan } = await busyLine(['One']);
  const line = await lock(app, 'lines', lineId);
  let now = new Date(Date.now() - 60_000);
  const planned = plan(() => now);
  await waitingForLocks(app, 1);
  now = new Date(Date.now() + 1000);
  await line.release();
  expect((await planned)?.claims.map(({ message }) => message.body)).toEqual(['One']);
});

test('an order by a process whose clock is a little ahead is carried out', async () => {
  const { ids, dueAt, planAt, orderNow } = await busyLine(['One', 'Two']);
  await orderNow(ids.slice(1));
  expect(await planAt(dueAt - 200)).toMatchObject({ sends: ['Two'] });
});
