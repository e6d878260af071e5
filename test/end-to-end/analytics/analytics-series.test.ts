import { sql } from 'slonik';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { conversationsOfDay } from '#db/queries/analytics/analytics-conversations.ts';
import { countMessages } from '#db/queries/analytics/analytics.ts';
import { withSystem } from '#db/connection/transactions.ts';
import { connected } from '#db/connection/connected.ts';
import { analyze } from '#test/setup/database.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { explained } from '#test/support/explained.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { ADA, BOB, inbound, LINE, NONE, outbound } from '#test/support/message-rows.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

describe('GET /api/analytics/timeseries', () => {
  const PATH = '/api/analytics/timeseries';
  let api: ApiClient;

  beforeAll(async () => {
    const { id, key } = await createWorkspace(app, { timezone: 'America/New_York' });
    api = apiClient(app.url, key);
    await outbound(app, id, ADA, '2026-03-07T12:00:00Z');
    await outbound(app, id, ADA, '2026-03-08T12:00:00Z');
    await outbound(app, id, BOB, '2026-03-09T03:30:00Z');
    await inbound(app, id, BOB, '2026-03-09T04:30:00Z');
  });

  const series = async (query: string) => (await api('GET', `${PATH}?${query}`)).body.series;

  it('includes every day, with zeros for idle ones and 23 hours when the clocks change', async () => {
    const days = await series('dateFrom=2026-03-06&dateTo=2026-03-09');
    expect(
      days.map(({ start, sent, replied }: { start: string; sent: number; replied: number }) => [
        start,
        sent,
        replied,
      ]),
    ).toEqual([
      ['2026-03-06T05:00:00.000Z', 0, 0],
      ['2026-03-07T05:00:00.000Z', 1, 0],
      ['2026-03-08T05:00:00.000Z', 2, 0],
      ['2026-03-09T04:00:00.000Z', 0, 1],
    ]);
    expect(days[2]).toEqual({
      ...NONE,
      start: '2026-03-08T05:00:00.000Z',
      end: '2026-03-09T04:00:00.000Z',
      reached: 2,
      sent: 2,
    });
    expect(await series('interval=hour&dateFrom=2026-03-08&dateTo=2026-03-08')).toHaveLength(23);
  });

  it('starts weeks on Monday and counts a contact once per week', async () => {
    const weeks = await series('interval=week&dateFrom=2026-03-02&dateTo=2026-03-09&tz=UTC');
    expect(
      weeks.map(({ start, reached, sent }: { start: string; reached: number; sent: number }) => [
        start,
        reached,
        sent,
      ]),
    ).toEqual([
      ['2026-03-02T00:00:00.000Z', 1, 2],
      ['2026-03-09T00:00:00.000Z', 1, 1],
    ]);
  });

  it('adds up to the metrics of the whole window', async () => {
    const window = 'dateFrom=2026-03-07T10:00:00Z&dateTo=2026-03-09T03:30:00Z';
    const { sent } = (await api('GET', `/api/analytics?${window}`)).body.metrics;
    const hours = await series(`interval=hour&${window}`);
    expect(hours.reduce((sum: number, hour: { sent: number }) => sum + hour.sent, 0)).toBe(sent);
    expect(sent).toBe(3);
  });

  it('refuses too many points, unknown intervals and impossible windows', async () => {
    expect((await api('GET', `${PATH}?interval=hour&dateFrom=2026-01-01&dateTo=2026-03-01`)).status).toBe(
      400,
    );
    expect((await api('GET', `${PATH}?interval=year`)).status).toBe(400);
    for (const query of ['dateTo=9999-12-31', 'dateFrom=0001-01-01&dateTo=0001-01-03'])
      expect((await api('GET', `${PATH}?${query}`)).status, query).toBe(400);
    expect((await api('GET', `${PATH}?agencyId=agency_1`)).body.code).toBe('AGENCY_NOT_AVAILABLE');
  });

  it('is exported as CSV', async () => {
    const { status, headers, body } = await api(
      'GET',
      '/api/analytics/export?dateFrom=2026-03-07&dateTo=2026-03-08',
    );
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(headers.get('content-disposition')).toBe('attachment; filename="analytics.csv"');
    expect(body).toBe(
      'start,end,reached,sent,fallback,failed,replied,uniqueReplied,repliedPct,positiveReplied,positivePct\r\n' +
        '2026-03-07T05:00:00.000Z,2026-03-08T05:00:00.000Z,1,1,0,0,0,0,0,0,0\r\n' +
        '2026-03-08T05:00:00.000Z,2026-03-09T04:00:00.000Z,2,2,0,0,0,0,0,0,0\r\n',
    );
  });
});

test('analytics of a window in a large workspace use indexes', async () => {
  const { id } = await createWorkspace(app);
  await withSystem(app.pools, (db) =>
    db.query(sql.type(z.unknown())`
      insert into messages (workspace_id, id, channel, status, address, source, line_id, scheduled_at, created_at, sent_at)
      select ${id}, lpad(to_hex(n), 24, '0'), 'imessage', 'delivered', '+1415' || n, 'api', ${LINE}, at, at, at
      from generate_series(1, 40000) n, lateral (values (timestamptz '2026-01-01' + n * interval '3 minutes')) t (at) returning null`),
  );
  await withSystem(app.pools, (db) =>
    db.query(sql.type(z.unknown())`
    insert into inbound_messages (workspace_id, id, line_id, address, carrier_message_id, received_at)
    select ${id}, lpad(to_hex(n), 24, '0'), ${LINE}, '+1415' || n, n::text, timestamptz '2026-01-01' + n * interval '6 minutes'
    from generate_series(1, 20000) n returning null`),
  );
  await connected(app.ownerUrl, async (owner) => {
    await owner.query('vacuum messages, inbound_messages');
    await analyze(owner, 'messages, inbound_messages');
  });
  const plans = await explained(app, id, async (query) => {
    const [from, to] = [new Date('2026-02-01T06:00Z'), new Date('2026-02-02T06:00Z')];
    await countMessages(query, { from, to }, 'UTC');
    await conversationsOfDay(query, { start: from, end: to }, { lineId: undefined, limit: 60 });
  });
  expect(plans).toHaveLength(3);
  // Whether an index answers alone depends on transactions that vacuum has to respect.
  expect(plans[0]).toMatch(/Index .*Scan .* messages_counted/);
  expect(plans[1]).toMatch(/Index .*Scan .* inbound_messages_counted/);
  expect(plans[2]).toMatch(/messages_sent[^]*inbound_messages_(newest|counted)/);
  expect(plans.join('\n')).not.toMatch(/Seq Scan on (messages|inbound_messages)/);
});
