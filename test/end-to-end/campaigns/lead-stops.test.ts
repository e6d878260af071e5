import { sql } from 'slonik';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withTenant } from '#db/connection/transactions.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { modelRequestsAbout } from '#test/support/copilot.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lineId = await createLine(app, workspace.id);
});

const { newCampaign, progressOf, stepsOf, step } = campaignHelpers(() => ({ app, workspace, api }));

const hot = { field: 'tag', op: 'eq', value: 'hot' };
const soon = { message: 'Two', delay: { days: 2 } };

const enter = async (fields: object, lead: object = {}) => {
  const id = await newCampaign({ start: true, ...fields });
  const to = phone();
  const { body } = await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to, ...lead } });
  const leadId: string = body.leadId;
  await step(id, leadId, 0, 'delivered');
  const place = async () => (await api('GET', `/api/leads/${leadId}/campaigns/${id}`)).body.place;
  const resume = (resumesAt: string | null) =>
    api('PATCH', `/api/leads/${leadId}/campaigns/${id}`, { resumesAt });
  return { id, to, leadId, place, resume };
};
const whyOf = async (leadId: string): Promise<[string, string][]> =>
  (await api('GET', `/api/leads/${leadId}/timeline`)).body.entries
    .filter(({ type }: { type: string }) => type === 'campaign_decided')
    .map(({ outcome, why }: Record<string, string>) => [outcome, why]);
const tag = (leadId: string) => api('POST', `/api/leads/${leadId}/tags`, { tags: ['Hot'] });

describe('stopWhen', () => {
  it('of a campaign stops a lead whose message waits, as soon as one of the conditions holds', async () => {
    const { id, leadId, place } = await enter({ steps: [{ message: 'One' }, soon], stopWhen: [hot] });
    await step(id, leadId, 1, 'scheduled');
    await tag(leadId);
    await eventually(async () => (await place()).state === 'stopped');
    expect(await place()).toMatchObject({ stopReason: 'stop_condition' });
    expect((await stepsOf(id, leadId))[1]).toMatchObject({
      status: 'canceled',
      holdReason: 'stop_condition',
    });
    expect(await whyOf(leadId)).toEqual([['stopped', 'tag eq “hot”: has Hot']]);
    const [, two] = (await api('GET', `/api/campaigns/${id}/funnel`)).body.steps;
    expect(two.skipped).toEqual([{ reason: 'stop_condition', leads: 1 }]);
  });

  it('of a campaign stops whoever waits at a step, and whoever enters', async () => {
    const steps = [{ message: 'One' }, { kind: 'wait', for: { days: 3 } }, { message: 'Two' }];
    const { id, place } = await enter({ steps, stopWhen: [{ field: 'replied' }], onReply: 'continue' });
    const { to } = { to: phone() };
    const { body } = await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to } });
    await step(id, body.leadId, 0, 'delivered');
    expect((await place()).state).toBe('running');
    const done = await newCampaign({
      start: true,
      steps: [{ message: 'One' }],
      stopWhen: [{ field: 'firstName', value: 'Ada' }],
    });
    const entered = await api('POST', `/api/campaigns/${done}/leads`, {
      lead: { phone: phone(), firstName: 'Ada' },
    });
    expect([entered.status, entered.body.messageCount]).toEqual([201, 0]);
    expect(await progressOf(done)).toMatchObject({ stopped: 1 });
  });

  it('of a step stops a lead when the turn of the step comes', async () => {
    const { leadId, id, place } = await enter(
      {
        steps: [{ message: 'One' }, { message: 'Two', stopWhen: [{ field: 'firstName', value: 'Ada' }] }],
      },
      { firstName: 'Ada' },
    );
    await eventually(async () => (await place()).state === 'stopped');
    // The first may be delivered after the turn of the second.
    await eventually(async () => (await stepsOf(id, leadId))[0]?.status === 'delivered');
    expect((await stepsOf(id, leadId)).map(({ status }) => status)).toEqual(['delivered', 'canceled']);
  });
});

describe('onReply', () => {
  it('pauses a lead until somebody lets it go on, if the campaign wants that', async () => {
    const { id, leadId, to, place, resume } = await enter({
      steps: [{ message: 'One' }, soon],
      onReply: 'pause',
    });
    expect((await api('GET', `/api/campaigns/${id}`)).body.campaign).toMatchObject({
      onReply: 'pause',
      stopOnReply: false,
    });
    await callBack(app, lineId, replyEvent(to, 'Who is this?'));
    await eventually(async () => (await place()).pausedAt !== null);
    expect(await place()).toMatchObject({ state: 'running', pauseReason: 'reply', resumesAt: null });
    const [, two] = await stepsOf(id, leadId);
    const { waitingFor } = (await api('GET', `/api/messages/${two?._id}/timeline`)).body;
    expect(waitingFor.reason).toBe('lead_paused');
    const until = new Date(Date.now() + 86_400_000).toISOString();
    expect((await resume(until)).body.place).toMatchObject({ resumesAt: until, pauseReason: 'reply' });
    // The clock of this process may be ahead of the database's.
    expect((await resume(new Date(Date.now() - 1000).toISOString())).body.place).toMatchObject({
      pausedAt: null,
      resumesAt: null,
    });
    expect((await step(id, leadId, 1, 'scheduled')).holdReason).toBeNull();
  });

  it('is stop for stopOnReply: true, and continue for false', async () => {
    const of = async (fields: object) => {
      const id = await newCampaign(fields);
      return (await api('GET', `/api/campaigns/${id}`)).body.campaign.onReply;
    };
    expect([await of({}), await of({ stopOnReply: true }), await of({ stopOnReply: false })]).toEqual([
      'stop',
      'stop',
      'continue',
    ]);
  });
});

describe('a lead that is out of office', () => {
  it('goes on at the date in the text, which can be changed, and its messages go on with it', async () => {
    const { id, leadId, to, place, resume } = await enter({
      steps: [{ message: 'One' }, { message: 'Two', delay: { minutes: 30 } }],
    });
    await step(id, leadId, 1, 'scheduled');
    const date = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
    const text = `Ich bin bis ${date} im Urlaub.`;
    await callBack(app, lineId, replyEvent(to, text, { autoReply: true }));
    await eventually(async () => (await place()).pausedAt !== null);
    const { resumesAt, pauseReason, state } = await place();
    expect([state, pauseReason, resumesAt.slice(0, 10)]).toEqual(['running', 'out_of_office', date]);
    // The workflow lets it go on at the time, which a member brings forward.
    const shortly = new Date(Date.now() + 1500).toISOString();
    await resume(shortly);
    await eventually(async () => (await place()).pausedAt === null);
    expect((await step(id, leadId, 1, 'scheduled')).holdReason).toBeNull();
  });

  it('may say so by a text message of which the carrier does not know that it is automatic', async () => {
    const { to, place } = await enter({ steps: [{ message: 'One' }, soon] });
    const date = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
    await callBack(app, lineId, replyEvent(to, `Out of office: I am back on ${date}.`));
    await eventually(async () => (await place()).pausedAt !== null);
    const { resumesAt, pauseReason, state } = await place();
    expect([state, pauseReason, resumesAt.slice(0, 10)]).toEqual(['running', 'out_of_office', date]);
  });

  describe('until a day that no rule finds', () => {
    const AWAY = 'I am away for 5 sleeps.';
    const daysAhead = (at: string): number => Math.round((Date.parse(at) - Date.now()) / 86_400_000);
    const awaited = () =>
      withTenant(app.pools, workspace.id, (db) =>
        db.anyFirst(sql.type(z.object({ id: z.string() }))`
          select return_reply_id id from campaign_leads
          where workspace_id = ${workspace.id} and return_reply_id is not null`),
      );
    const switchCopilot = async (mode: 'copilot' | 'off') =>
      expect((await api('PUT', '/api/knowledge-base', { mode })).status).toBe(200);
    const away = async (text: string) => {
      const entered = await enter({ steps: [{ message: 'One' }, soon] });
      await callBack(app, lineId, replyEvent(entered.to, text, { autoReply: true }));
      await eventually(async () => (await entered.place()).pausedAt !== null);
      return entered;
    };

    it('goes on at the day that the model finds', async () => {
      await switchCopilot('copilot');
      const { place } = await away(AWAY);
      await eventually(async () => daysAhead((await place()).resumesAt) <= 5);
      expect(await place()).toMatchObject({ state: 'running', pauseReason: 'out_of_office' });
      expect(await awaited()).toEqual([]);
    });

    it.each([
      ['knows no day', 'I am away.'],
      ['fails', 'I am away for 5 sleeps. simulate:quota'],
    ])('goes on after a week if the model %s', async (_, text) => {
      await switchCopilot('copilot');
      const { place } = await away(text);
      await eventually(async () => (await awaited()).length === 0);
      expect(daysAhead((await place()).resumesAt)).toBeGreaterThan(5);
    });

    it('goes on when a member has said, whatever the model finds later', async () => {
      await switchCopilot('copilot');
      const { place, resume } = await away(`${AWAY} simulate:timeout`);
      const until = new Date(Date.now() + 20 * 86_400_000).toISOString();
      await resume(until);
      expect(await awaited()).toEqual([]);
      expect((await place()).resumesAt).toBe(until);
    });

    it('is not shown to the model while the copilot is off', async () => {
      await switchCopilot('off');
      const text = `${AWAY} ${phone()}`;
      const { place } = await away(text);
      expect(daysAhead((await place()).resumesAt)).toBeGreaterThan(5);
      expect(await awaited()).toEqual([]);
      expect(await modelRequestsAbout({ app }, text)).toEqual([]);
    });
  });

  it.each(['a member', 'a reply'])('stays paused by %s until a person lets it go on', async (who) => {
    const { id, leadId, to, place, resume } = await enter({
      steps: [{ message: 'One' }, soon],
      onReply: 'pause',
    });
    await step(id, leadId, 1, 'scheduled');
    if (who === 'a reply') await callBack(app, lineId, replyEvent(to, 'Call me next week.'));
    else await resume(null);
    await eventually(async () => (await place()).pausedAt !== null);
    const before = await place();
    expect(before.resumesAt).toBeNull();
    const date = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
    const text = `Out of office: I am back on ${date}.`;
    expect(await callBack(app, lineId, replyEvent(to, text, { autoReply: true }))).toBe(200);
    expect(await place()).toEqual(before);
    // Somebody who waits for longer than the absence does not go on with its end.
    const until = new Date(Date.now() + 20 * 86_400_000).toISOString();
    await resume(until);
    expect(await callBack(app, lineId, replyEvent(to, text, { autoReply: true }))).toBe(200);
    expect(await place()).toMatchObject({ pauseReason: before.pauseReason, resumesAt: until });
  });

  it('is told from other automatic replies', async () => {
    const { to, place } = await enter({ steps: [{ message: 'One' }, soon] });
    await callBack(app, lineId, replyEvent(to, 'We have received your message.', { autoReply: true }));
    expect((await place()).pausedAt).toBeNull();
  });

  it('that waits at a step goes on from there', async () => {
    const steps = [
      { message: 'One' },
      { kind: 'wait_until', any: [hot], atMost: { days: 9 } },
      { message: 'Two' },
    ];
    const { id, leadId, to, place, resume } = await enter({ steps });
    await eventually(async () => (await place()).waitsUntil !== null);
    await callBack(app, lineId, replyEvent(to, 'I am out of the office.', { autoReply: true }));
    await eventually(async () => (await place()).pausedAt !== null);
    await tag(leadId);
    expect((await stepsOf(id, leadId)).length).toBe(1);
    await resume(new Date().toISOString());
    await step(id, leadId, 1, 'sent', 'delivered');
  });
});
