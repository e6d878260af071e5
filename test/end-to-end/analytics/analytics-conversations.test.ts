import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createLead, createWorkspace } from '#test/support/factories.ts';
import { ADA, BOB, CY, DEE, inbound, LINE, outbound } from '#test/support/message-rows.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

describe('GET /api/analytics/conversations', () => {
  const PATH = '/api/analytics/conversations';

  it('lists the conversations of a day, the most recent activity first', async () => {
    const { id, key } = await createWorkspace(app);
    const leadId = await createLead(app, id, { first_name: 'Ada', last_name: 'Lovelace' });
    await outbound(app, id, ADA, '2026-03-02T08:00:00Z', { lead_id: leadId, line_id: LINE, body: 'Hello' });
    await outbound(app, id, ADA, '2026-03-02T09:00:00Z', { lead_id: leadId, line_id: LINE });
    await inbound(app, id, ADA, '2026-03-02T10:00:00Z', { line_id: LINE, body: 'Yes?' });
    await outbound(app, id, BOB, '2026-03-02T11:00:00Z', { recipient_name: 'Bob', body: 'Hi Bob' });
    // Created days before but sent on the day; canceled; sent on the day before.
    await outbound(app, id, CY, '2026-02-27T11:00:00Z', { sent_at: new Date('2026-03-02T07:00:00Z') });
    await outbound(app, id, DEE, '2026-03-02T12:00:00Z', { status: 'canceled' });
    await outbound(app, id, DEE, '2026-03-01T12:00:00Z');
    const api = apiClient(app.url, key);

    expect((await api('GET', `${PATH}?date=2026-03-02`)).body).toEqual({
      success: true,
      date: '2026-03-02',
      timezone: 'UTC',
      total: 3,
      returned: 3,
      conversations: [
        {
          name: 'Bob',
          phone: BOB,
          leadId: null,
          sent: 1,
          replied: 0,
          lastMessage: 'Hi Bob',
          lastDirection: 'out',
          lastAt: '2026-03-02T11:00:00.000Z',
          inboxHref: `/inbox/${BOB}`,
        },
        {
          name: 'Ada Lovelace',
          phone: ADA,
          leadId,
          sent: 2,
          replied: 1,
          lastMessage: 'Yes?',
          lastDirection: 'in',
          lastAt: '2026-03-02T10:00:00.000Z',
          inboxHref: `/inbox/${ADA}`,
        },
        {
          name: CY,
          phone: CY,
          leadId: null,
          sent: 1,
          replied: 0,
          lastMessage: `to ${CY}`,
          lastDirection: 'out',
          lastAt: '2026-03-02T07:00:00.000Z',
          inboxHref: `/inbox/${CY}`,
        },
      ],
    });
    expect((await api('GET', `${PATH}?date=2026-03-02&lineId=${LINE}`)).body).toMatchObject({
      total: 1,
      conversations: [{ phone: ADA }],
    });
    expect((await api('GET', `${PATH}?date=2026-03-02&lineId=${newId()}`)).body).toMatchObject({
      total: 0,
      returned: 0,
      conversations: [],
    });
  });

  it('takes the day in the requested zone, else in that of the workspace, even when the clocks change', async () => {
    const { id, key } = await createWorkspace(app, { timezone: 'America/New_York' });
    // The clocks go forward on 8 March 2026: that day has 23 hours, from 05:00 UTC to 04:00 UTC.
    for (const [address, at] of [
      [ADA, '2026-03-08T04:59:59Z'],
      [BOB, '2026-03-08T05:00:00Z'],
      [CY, '2026-03-09T03:59:59Z'],
      [DEE, '2026-03-09T04:00:00Z'],
    ] as const) {
      await outbound(app, id, address, at);
    }
    const api = apiClient(app.url, key);
    const phones = async (query: string) =>
      (await api('GET', `${PATH}?${query}`)).body.conversations.map(({ phone }: { phone: string }) => phone);
    expect(await phones('date=2026-03-08')).toEqual([CY, BOB]);
    expect(await phones('date=2026-03-08&timezone=UTC')).toEqual([BOB, ADA]);
    expect(await phones('date=2026-03-09&tz=Asia/Tokyo')).toEqual([DEE, CY]);
  });

  it('lists at most 60 and reports the total', async () => {
    const { id, key } = await createWorkspace(app);
    for (let n = 0; n < 65; n++)
      await outbound(app, id, `+1415555${1000 + n}`, new Date(Date.UTC(2026, 2, 2, 8, n)).toISOString());
    const { body } = await apiClient(app.url, key)('GET', `${PATH}?date=2026-03-02`);
    expect(body).toMatchObject({ total: 65, returned: 60 });
    expect(body.conversations).toHaveLength(60);
    expect(body.conversations[0].phone).toBe('+14155551064');
  });

  it('refuses a day that is missing, malformed or does not exist', async () => {
    const api = apiClient(app.url, (await createWorkspace(app)).key);
    for (const query of [
      '',
      '?date=',
      '?date=02.03.2026',
      '?date=2026-02-30',
      '?date=2026-03-02&timezone=Mars',
      '?date=2026-03-02&lineId=1',
    ]) {
      expect(await api('GET', `${PATH}${query}`), query).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_ERROR' },
      });
    }
  });
});
