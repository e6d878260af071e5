import { beforeAll, expect, test } from 'vitest';
import { planSends } from '#activities/send-plan.ts';
import { setSendNow } from '#db/queries/line-orders.ts';
import { withTenant } from '#db/transactions.ts';
import { lineGapMs } from '#domain/line-limits.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

let app: TestApp;

// No worker: the test plans sends at times of its choice.
beforeAll(async () => void (app = await sharedApp({ worker: false })));

/** A line with a gap and messages that are due. @returns its id, and what it plans at a time. */
async function busyLine(messages: readonly string[]) {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 20 });
  const api = apiClient(app.url, workspace.key);
  const ids: string[] = [];
  for (const message of messages) {
    const { status, body } = await api('POST', '/api/messages', {
      message,
      recipientPhone: phone(),
      fromLineId: lineId,
    });
    expect(status).toBe(201);
    ids.push(body._id);
  }
  const planAt = async (ms: number) => {
    const plan = await withTenant(app.pools, workspace.id, (db) => planSends(db, lineId, 1000, new Date(ms)));
    return {
      sends: plan?.claims.map(({ message }) => message.body),
      nextAt: plan?.nextAt?.getTime(),
      resumesAt: plan?.resumesAt?.getTime(),
    };
  };
  const orderNow = (wanted: readonly string[]) =>
    withTenant(app.pools, workspace.id, (db) => setSendNow(db, lineId, wanted));
  return { lineId, ids, planAt, orderNow };
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

test('an order that is given while a plan waits for the line is carried out', async () => {
  const { ids, planAt, orderNow } = await busyLine(['One', 'Two']);
  await orderNow(ids.slice(1));
  // The plan has read the clock before the message that it is to send was due.
  expect(await planAt(Date.now() - 2000)).toMatchObject({ sends: ['Two'] });
});
