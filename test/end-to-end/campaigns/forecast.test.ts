import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { advanceClock, openTestMode } from '#test/support/test-mode.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => {
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
});
const { newList, newCampaign, messagesOf } = campaignHelpers(() => ({ app, workspace, api }));

const LIMITS = { daily_total_limit: 100, daily_new_limit: 10, hourly_new_limit: 10, min_gap_seconds: 0 };
const newLine = () => createLine(app, workspace.id, 'imessage', LIMITS);
const inAYear = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

async function forecast(path: string, body?: object) {
  const response = await api('POST', path, body);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return response.body;
}
const daysOf = ({ byDay }: { byDay: { newConversations: number }[] }) =>
  byDay.map(({ newConversations }) => newConversations).filter((count) => count > 0);

describe('a forecast', () => {
  it('tells the days of a sequence, what limits it, and what more lines would do', async () => {
    const [first] = [await newLine(), await newLine()];
    const steps = [{ delay: {} }, { delay: { days: 2 } }];
    const both = await forecast('/api/forecast', { newConversations: 100, steps });
    expect(daysOf(both).reduce((sum, count) => sum + count, 0)).toBe(100);
    expect(Math.max(...daysOf(both))).toBe(20);
    expect(both.byDay.reduce((sum: number, { messages }: { messages: number }) => sum + messages, 0)).toBe(
      200,
    );
    expect(both.limitedBy[0].reason).toBe('daily_new_cap');
    expect(Date.parse(both.firstStepDoneAt)).toBeLessThan(Date.parse(both.completesAt));
    expect(both.linesFor.map(({ lines }: { lines: number }) => lines)).toEqual([2, 3, 4]);
    const days: number[] = both.linesFor.map(({ days }: { days: number }) => days);
    expect(days).toEqual(days.toSorted((a, b) => b - a));
    expect(days[1]).toBeLessThan(Number(days[0]));

    const one = await forecast('/api/forecast', { newConversations: 100, steps, lineIds: [first] });
    expect(Math.max(...daysOf(one))).toBe(10);
    const pool = await api('POST', '/api/pools', { name: 'One', lines: [{ lineId: first }] });
    expect(
      await forecast('/api/forecast', { newConversations: 100, steps, poolId: pool.body.pool._id }),
    ).toMatchObject({ completesAt: one.completesAt, byDay: one.byDay });
  });

  it('counts what already waits', async () => {
    const lineId = await newLine();
    const before = await forecast('/api/forecast', { newConversations: 10, steps: [{ delay: { days: 2 } }] });
    for (let count = 0; count < 10; count += 1)
      await api('POST', '/api/messages', {
        message: 'Hello',
        recipientPhone: phone(),
        fromLineId: lineId,
        scheduledDate: inAYear(2),
      });
    const after = await forecast('/api/forecast', { newConversations: 10, steps: [{ delay: { days: 2 } }] });
    expect(Date.parse(after.completesAt)).toBeGreaterThan(Date.parse(before.completesAt));
  });

  it('for a line that is paused does not end, and says why', async () => {
    const lineId = await newLine();
    await api('POST', `/api/lines/${lineId}/pause`);
    const plan = { newConversations: 10, steps: [{ delay: {} }] };
    const paused = await forecast('/api/forecast', plan);
    expect(paused).toMatchObject({ completesAt: null, limitedBy: [{ reason: 'line_paused', share: 1 }] });
    // A line more would take all of them.
    expect(paused.linesFor).toEqual([
      expect.objectContaining({ lines: 2 }),
      expect.objectContaining({ lines: 3 }),
    ]);
    await newLine();
    expect((await forecast('/api/forecast', plan)).completesAt).toEqual(expect.any(String));
  });

  it('of a campaign is for its leads, and for what is left of it once it runs', async () => {
    await newLine();
    const { listId } = await newList(Array.from({ length: 25 }, () => ({ phone: phone() })));
    const id = await newCampaign({
      listId,
      steps: [{ message: 'One', delay: { days: 1 } }, { message: 'Two' }],
    });
    const draft = await forecast(`/api/campaigns/${id}/forecast`);
    expect(daysOf(draft).reduce((sum, count) => sum + count, 0)).toBe(25);
    expect(draft.byDay.reduce((sum: number, { messages }: { messages: number }) => sum + messages, 0)).toBe(
      50,
    );
    await api('POST', `/api/campaigns/${id}/start`);
    await expect
      .poll(async () => (await api('GET', `/api/campaigns/${id}`)).body.progress.enteredAll, {
        timeout: 20_000,
      })
      .toBe(true);
    const running = await forecast(`/api/campaigns/${id}/forecast`);
    expect(running.byDay.reduce((sum: number, { messages }: { messages: number }) => sum + messages, 0)).toBe(
      50,
    );
    expect(running.completesAt.slice(0, 10)).toBe(draft.completesAt.slice(0, 10));
  });

  it('of a campaign counts the frequency cap between its steps, before and after it starts', async () => {
    await newLine();
    await api('PUT', '/api/workspace/frequency-cap', { messages: 1, days: 7 });
    const { listId } = await newList([{ phone: phone() }]);
    const steps = ['One', 'Two', 'Three'].map((message) => ({ message, delay: { days: 1 } }));
    const finishBy = inAYear(10);
    const id = await newCampaign({ listId, steps, finishBy });
    const daysAhead = ({ completesAt }: { completesAt: string }) =>
      Math.round((Date.parse(completesAt) - Date.now()) / 86_400_000);
    const draft = await forecast(`/api/campaigns/${id}/forecast`);
    expect([daysAhead(draft), draft.finishBy.isPossible]).toEqual([15, false]);
    await api('POST', `/api/campaigns/${id}/start`);
    await eventually(async () => (await messagesOf(id)).length === 3);
    expect(daysAhead(await forecast(`/api/campaigns/${id}/forecast`))).toBe(15);
    await api('PUT', '/api/workspace/frequency-cap', { messages: 3, days: 7 });
    expect(await forecast(`/api/campaigns/${id}/forecast`)).toMatchObject({ finishBy: { isPossible: true } });
  });

  it('of a campaign under a frequency cap is what the clock of test mode then does', async () => {
    const twin = await openTestMode(app, workspace);
    await twin.api('POST', '/api/test/lines', { channelType: 'imessage' });
    await twin.api('PUT', '/api/workspace/frequency-cap', { messages: 2, days: 7 });
    const steps = ['One', 'Two', 'Three', 'Four'].map((message) => ({ message, delay: { days: 1 } }));
    const { body } = await twin.api('POST', '/api/campaigns', { name: 'Capped', steps, start: true });
    const id = body.campaign._id;
    await twin.api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } });
    const begun = Date.parse((await twin.api('GET', '/api/test/clock')).body.now);
    const { completesAt } = (await twin.api('POST', `/api/campaigns/${id}/forecast`)).body;
    await advanceClock(twin.api, 12 * 86_400);
    const sent = await eventually(async () => {
      const { messages } = (await twin.api('GET', `/api/messages?campaignId=${id}`)).body;
      return messages.every(({ sentAt }: { sentAt: string | null }) => sentAt !== null) && messages;
    });
    const last = Math.max(...sent.map(({ sentAt }: { sentAt: string }) => Date.parse(sentAt)));
    expect((last - begun) / (Date.parse(completesAt) - begun)).toBeCloseTo(1, 1);
  });

  it('of a campaign does not complete before its last message is due', async () => {
    await newLine();
    const { listId } = await newList([{ phone: phone() }]);
    const id = await newCampaign({ listId, steps: [{ message: 'One', delay: { minutes: 59 } }] });
    await api('POST', `/api/campaigns/${id}/start`);
    const message = await eventually(async () => (await messagesOf(id))[0]);
    expect((await forecast(`/api/campaigns/${id}/forecast`)).completesAt).toBe(message.scheduledDate);
  });

  it('is refused for lines of others, and for a channel that no line carries', async () => {
    const other = await createLine(app, (await createWorkspace(app)).id);
    await newLine();
    const one = { newConversations: 1, steps: [{ delay: {} }] };
    expect(await api('POST', '/api/forecast', { ...one, lineIds: [other] })).toMatchObject({ status: 404 });
    expect(
      await api('POST', '/api/forecast', { ...one, steps: [{ delay: {}, messageType: 'email' }] }),
    ).toMatchObject({ status: 400, body: { code: 'NO_ACTIVE_LINE' } });
    expect(await api('POST', '/api/forecast', { ...one, lineIds: [other], poolId: other })).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'lineIds' }] },
    });
  });

  it('is possible for 100,000 contacts', async () => {
    for (let count = 0; count < 10; count += 1)
      await createLine(app, workspace.id, 'imessage', {
        daily_new_limit: 50,
        daily_total_limit: 150,
        min_gap_seconds: 20,
      });
    const { completesAt } = await forecast('/api/forecast', {
      newConversations: 100_000,
      steps: [{ delay: {} }, { delay: { days: 2 } }],
      sendWindowStart: '09:00',
      sendWindowEnd: '18:00',
    });
    expect(completesAt).not.toBeNull();
  });
});

describe('a campaign with a deadline', () => {
  const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

  it('is told by its forecast whether it keeps it, and with how many lines it would', async () => {
    await newLine();
    const { listId } = await newList(Array.from({ length: 60 }, () => ({ phone: phone() })));
    const id = await newCampaign({ listId, steps: [{ message: 'Hi' }], finishBy: inDays(4) });
    const { finishBy } = await forecast(`/api/campaigns/${id}/forecast`);
    expect(finishBy.isPossible).toBe(false);
    await api('PATCH', `/api/campaigns/${id}`, { finishBy: inDays(30) });
    expect((await forecast(`/api/campaigns/${id}/forecast`)).finishBy).toMatchObject({
      isPossible: true,
      lines: 1,
    });
    await api('PATCH', `/api/campaigns/${id}`, { finishBy: null });
    expect((await forecast(`/api/campaigns/${id}/forecast`)).finishBy).toBeNull();
  });

  it('tells webhooks once when it will be late, and again when it slips anew', async () => {
    await newLine();
    const receiver = await startEndpoint();
    await api('POST', '/api/webhooks', { url: receiver.url, events: ['campaign.will_be_late'] });
    const { listId } = await newList(Array.from({ length: 30 }, () => ({ phone: phone() })));
    const id = await newCampaign({
      listId,
      steps: [{ message: 'Hi' }],
      finishBy: inDays(1),
      start: true,
    });
    const told = (count: number) => eventually(async () => receiver.received.length === count);
    await told(1);
    expect(receiver.received[0]?.json).toMatchObject({
      event: 'campaign.will_be_late',
      campaignId: id,
      data: { completesAt: expect.any(String) },
    });
    expect((await api('GET', `/api/campaigns/${id}`)).body.campaign.isLate).toBe(true);
    const { status } = await api('PATCH', `/api/campaigns/${id}`, { finishBy: inDays(0.5) });
    expect(status).toBe(200);
    await told(2);
    await receiver.close();
  });
});
