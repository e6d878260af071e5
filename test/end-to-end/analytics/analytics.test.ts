import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { EXPLAINER } from '#domain/analytics/metrics.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import {
  ADA,
  AUTHOR,
  BOB,
  CAMPAIGN,
  CY,
  DEE,
  inbound,
  LINE,
  NONE,
  outbound,
  tag,
} from '#test/support/message-rows.ts';
import { signIn } from '#test/support/sessions.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

describe('GET /api/analytics', () => {
  let workspace: TestWorkspace;
  let api: ApiClient;
  const metrics = async (query = '') => (await api('GET', `/api/analytics${query}`)).body.metrics;

  beforeAll(async () => {
    workspace = await createWorkspace(app, { timezone: 'America/New_York' });
    api = apiClient(app.url, workspace.key);
    const { id } = workspace;
    await outbound(app, id, ADA, '2026-03-01T12:00:00Z', { line_id: LINE, campaign_id: CAMPAIGN });
    const asked = await outbound(app, id, ADA, '2026-03-02T12:00:00Z', {
      status: 'sent',
      line_id: LINE,
      created_by_user_id: AUTHOR,
    });
    await outbound(app, id, BOB, '2026-03-02T12:00:00Z', { campaign_id: CAMPAIGN });
    await outbound(app, id, CY, '2026-03-03T12:00:00Z', { line_id: LINE, created_by_user_id: AUTHOR });
    await outbound(app, id, DEE, '2026-03-03T12:00:00Z', { status: 'failed' });
    await outbound(app, id, DEE, '2026-03-03T12:00:00Z', { status: 'fallback' });
    await outbound(app, id, DEE, '2026-03-03T12:00:00Z', { status: 'fallback', fallback_sms: 'dispatched' });
    await outbound(app, id, DEE, '2026-03-03T12:00:00Z', { status: 'failed', fallback_sms: 'dispatched' });
    for (const status of ['pending', 'scheduled', 'sending', 'canceled'])
      await outbound(app, id, DEE, '2026-03-03T12:00:00Z', { status });
    await inbound(app, id, ADA, '2026-03-02T13:00:00Z', { line_id: LINE, original_message_id: asked });
    await inbound(app, id, ADA, '2026-03-02T14:00:00Z', { line_id: LINE });
    await inbound(app, id, BOB, '2026-03-04T13:00:00Z', { campaign_id: CAMPAIGN });
    await inbound(app, id, CY, '2026-03-04T13:00:00Z', { auto_reply: true });
    await tag(app, id, ADA, ['hot', 'To Respond']);
    await tag(app, id, BOB, ['interested, later']);
    await tag(app, id, CY, ['interested']);
    const stranger = await createWorkspace(app);
    await outbound(app, stranger.id, ADA, '2026-03-02T12:00:00Z', { line_id: LINE, campaign_id: CAMPAIGN });
  });

  it('counts as documented', async () => {
    const { status, body } = await api('GET', '/api/analytics');
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      filter: {},
      metrics: {
        reached: 3,
        sent: 4,
        fallback: 3,
        failed: 2,
        replied: 4,
        uniqueReplied: 2,
        repliedPct: 2 / 3,
        positiveReplied: 1,
        positivePct: 1 / 2,
      },
      explainer: EXPLAINER,
    });
  });

  it('applies each filter', async () => {
    expect(await metrics(`?campaignId=${CAMPAIGN}`)).toMatchObject({
      reached: 2,
      sent: 2,
      failed: 0,
      replied: 1,
      uniqueReplied: 1,
      positiveReplied: 0,
    });
    expect(await metrics(`?lineId=${LINE}`)).toMatchObject({
      reached: 2,
      sent: 3,
      replied: 2,
      uniqueReplied: 1,
      positiveReplied: 1,
      positivePct: 1,
    });
    expect(await metrics(`?userId=${AUTHOR}`)).toMatchObject({
      reached: 2,
      sent: 2,
      replied: 1,
      uniqueReplied: 1,
    });
  });

  it('includes both bounds', async () => {
    const own = await createWorkspace(app);
    const at = '2026-03-02T12:00:00.123';
    await outbound(app, own.id, ADA, `${at}Z`, { created_at: `${at}900Z` });
    await inbound(app, own.id, ADA, `${at}Z`, { received_at: `${at}900Z` });
    const moment = await apiClient(app.url, own.key)('GET', `/api/analytics?dateFrom=${at}Z&dateTo=${at}Z`);
    expect(moment.body.metrics).toMatchObject({ sent: 1, replied: 1 });

    expect(await metrics('?dateFrom=2026-03-02T12:00:00Z&dateTo=2026-03-03T12:00:00Z')).toMatchObject({
      reached: 3,
      sent: 3,
      replied: 2,
    });
    expect(await metrics('?dateFrom=2026-03-02T12:00:00.001Z&dateTo=2026-03-03T11:59:59.999Z')).toMatchObject(
      { sent: 0, replied: 2 },
    );
    expect(await metrics('?dateFrom=2026-03-02T13:00:00%2B01:00&dateTo=2026-03-02T12:00:00Z')).toMatchObject({
      sent: 2,
      replied: 0,
    });
  });

  it("interprets a date as the day in the workspace's time zone", async () => {
    const { id, key } = await createWorkspace(app, { timezone: 'America/New_York' });
    for (const at of [
      '2026-03-07T04:59:59Z',
      '2026-03-07T05:00:00Z',
      '2026-03-08T04:59:59Z',
      '2026-03-08T05:00:00Z',
    ])
      await outbound(app, id, ADA, at);
    const { body } = await apiClient(app.url, key)(
      'GET',
      '/api/analytics?dateFrom=2026-03-07&dateTo=2026-03-07',
    );
    expect(body.metrics.sent).toBe(2);
    expect(body.filter).toEqual({ dateFrom: '2026-03-07', dateTo: '2026-03-07' });
  });

  it("interprets a time without an offset, even without seconds, in the workspace's time zone", async () => {
    const noon = 'dateFrom=2026-03-02T07:00:00&dateTo=2026-03-02T07:00';
    expect(await metrics(`?${noon}`)).toMatchObject({ sent: 2, replied: 0 });
    expect(await metrics('?dateFrom=2026-03-02T12:00Z&dateTo=2026-03-02T12:00Z')).toMatchObject({ sent: 2 });
    expect(await metrics('?dateFrom=0001-01-01&dateTo=9999-12-31')).toMatchObject({ sent: 4, replied: 4 });
  });

  it('combines filters and reports those it applied', async () => {
    const query = `lineId=${LINE}&userId=${AUTHOR}&dateFrom=2026-03-03T00:00:00Z&dateTo=2026-03-09T00:00:00Z`;
    const { body } = await api('GET', `/api/analytics?${query}&unknown=1`);
    expect(body.metrics).toEqual({ ...NONE, reached: 1, sent: 1 });
    expect(body.filter).toEqual({
      lineId: LINE,
      userId: AUTHOR,
      dateFrom: '2026-03-03T00:00:00Z',
      dateTo: '2026-03-09T00:00:00Z',
    });
    expect(await metrics(`?campaignId=${CAMPAIGN}&userId=${AUTHOR}`)).toEqual(NONE);
  });

  it('returns zeros for unknown ids and 400 for invalid filters', async () => {
    expect(await metrics(`?lineId=${newId()}`)).toEqual(NONE);
    for (const query of [
      'lineId=123',
      'campaignId=XYZ',
      'userId=ada',
      'dateFrom=yesterday',
      'dateTo=2026-02-30',
    ]) {
      expect(await api('GET', `/api/analytics?${query}`)).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_ERROR' },
      });
    }
  });

  it('returns 501 for agencyId and 401 without a credential, and accepts a session', async () => {
    expect(await api('GET', '/api/analytics?agencyId=agency_1')).toMatchObject({
      status: 501,
      body: { code: 'AGENCY_NOT_AVAILABLE' },
    });
    expect(await apiClient(app.url, '')('GET', '/api/analytics')).toMatchObject({
      status: 401,
      body: { error: 'Unauthorized' },
    });
    const { id: organizationId, ownerId: userId } = workspace;
    const token = await signIn(app, { userId, organizationId, role: 'org:member' });
    expect((await apiClient(app.url, token)('GET', '/api/analytics')).body.metrics.sent).toBe(4);
  });
});

describe('GET /api/agency/overview', () => {
  it("sums the agency's workspaces only, over the requested days", async () => {
    const agency = await createAgency(app);
    const [first, second] = [
      await createWorkspace(app, { agency_id: agency.id, name: 'First' }),
      await createWorkspace(app, { agency_id: agency.id, name: 'Second' }),
    ];
    const stranger = await createWorkspace(app);
    const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
    await outbound(app, first.id, ADA, daysAgo(1));
    await outbound(app, first.id, BOB, daysAgo(1));
    await inbound(app, first.id, ADA, daysAgo(1));
    await tag(app, first.id, ADA, ['INTERESTED']);
    await outbound(app, second.id, ADA, daysAgo(20));
    await outbound(app, stranger.id, ADA, daysAgo(1));
    const api = apiClient(app.url, agency.key);

    const { body } = await api('GET', '/api/agency/overview');
    const positive = { replied: 1, uniqueReplied: 1, positiveReplied: 1, positivePct: 1 };
    expect(body).toEqual({
      success: true,
      days: 30,
      totals: { ...NONE, ...positive, reached: 3, sent: 3, repliedPct: 1 / 3 },
      workspaces: [
        {
          workspaceId: first.id,
          name: 'First',
          metrics: { ...NONE, ...positive, reached: 2, sent: 2, repliedPct: 1 / 2 },
        },
        { workspaceId: second.id, name: 'Second', metrics: { ...NONE, reached: 1, sent: 1 } },
      ].toSorted((a, b) => (a.workspaceId < b.workspaceId ? 1 : -1)),
    });
    expect((await api('GET', '/api/agency/overview?days=7')).body).toMatchObject({
      days: 7,
      totals: { sent: 2 },
    });
    for (const days of ['0', '366', '1.5', 'week'])
      expect((await api('GET', `/api/agency/overview?days=${days}`)).status).toBe(400);
  });
});
