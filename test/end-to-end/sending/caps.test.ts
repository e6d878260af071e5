import { beforeAll, describe, expect, it } from 'vitest';
import { planSends } from '#db/commands/sending/send-plan.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { dayBounds } from '#domain/base/calendar.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

let app: TestApp;

// No worker: the test plans sends at times of its choice.
beforeAll(async () => void (app = await sharedApp({ worker: false })));

const MINUTE_MS = 60_000;

describe('a message that uses up the limit of the day', () => {
  it('leaves the next one until the morning, even if the line does not plan again before midnight', async () => {
    const workspace = await createWorkspace(app, { timezone: 'UTC' });
    const lineId = await createLine(app, workspace.id);
    const api = apiClient(app.url, workspace.key);
    await api('PATCH', `/api/lines/${lineId}`, { dailyTotalMessagesLimit: 1, minGapSeconds: 0 });
    for (const message of ['One', 'Two']) {
      const { status } = await api('POST', '/api/messages', {
        message,
        recipientPhone: phone(),
        fromLineId: lineId,
      });
      expect(status).toBe(201);
    }
    const tomorrow = dayBounds('UTC', new Date()).end;
    const midnight = dayBounds('UTC', tomorrow).end.getTime();
    const planAt = (ms: number) =>
      withTenant(app.pools, workspace.id, (db) => planSends(db, lineId, 1000, () => new Date(ms)));

    expect((await planAt(midnight - MINUTE_MS))?.claims).toHaveLength(1);
    const afterMidnight = await planAt(midnight + MINUTE_MS);
    expect(afterMidnight?.claims).toEqual([]);
    expect(afterMidnight?.nextAt?.getTime()).toBeGreaterThan(midnight + 6 * 60 * MINUTE_MS);
  });
});
