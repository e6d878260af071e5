import { beforeAll, expect, test } from 'vitest';
import { planSends } from '#activities/send-plan.ts';
import { withTenant } from '#db/transactions.ts';
import { lineGapMs } from '#domain/line-limits.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

let app: TestApp;

// No worker: the test plans sends at times of its choice.
beforeAll(async () => void (app = await sharedApp({ worker: false })));

test('a plan that sends tells when the gap ends, unless nothing else is due', async () => {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 20 });
  const api = apiClient(app.url, workspace.key);
  for (const message of ['One', 'Two']) {
    const { status } = await api('POST', '/api/messages', {
      message,
      recipientPhone: phone(),
      fromLineId: lineId,
    });
    expect(status).toBe(201);
  }
  const planAt = async (ms: number) => {
    const plan = await withTenant(app.pools, workspace.id, (db) => planSends(db, lineId, 1000, new Date(ms)));
    return {
      sends: plan?.claims.length,
      nextAt: plan?.nextAt?.getTime(),
      resumesAt: plan?.resumesAt?.getTime(),
    };
  };
  const start = Date.now() + 1000;
  const gapEnd = start + lineGapMs({ id: lineId, minGapSeconds: 20 }, new Date(start));

  expect(await planAt(start)).toEqual({ sends: 1, nextAt: start, resumesAt: gapEnd });
  // A plan in the gap finds what the one before has told.
  expect(await planAt(start + 1)).toEqual({ sends: 0, nextAt: gapEnd, resumesAt: undefined });
  expect(await planAt(gapEnd)).toEqual({ sends: 1, nextAt: gapEnd, resumesAt: undefined });
  expect(await planAt(gapEnd + 1)).toEqual({ sends: 0, nextAt: undefined, resumesAt: undefined });
});
