import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/ids.ts';
import type { Message } from '#domain/message.ts';
import { HOSTILE_REPLIES } from '#test/fixtures/hostile-replies.ts';
import { eventually, startTestApp, type TestApp } from '#test/support/app.ts';
import { campaignWorld, now } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { personalizerId } from '#workflows/messages/wake.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ environment: { LLM_TIMEOUT_SECONDS: '2' } });
});
afterAll(() => app.stop());

/** A workspace of its own, whose instructions tell the simulated model how to behave. */
async function desk(instructions = '') {
  const workspace: TestWorkspace = await createWorkspace(app);
  const api: ApiClient = apiClient(app.url, workspace.key);
  const lineId = await createLine(app, workspace.id);
  await api('PUT', '/api/knowledge-base', { mode: 'off', instructions });
  const world = campaignWorld(() => ({ app, workspace, api }));
  const written = async (id: string) => (await api('GET', `/api/campaigns/${id}`)).body.personalization;
  const textsTo = async (to: string) => (await sentTo(app, to)).map(({ text }) => text);
  return { ...world, api, lineId, written, textsTo };
}

const personalized = { needsAiPersonalization: true, start: true };

async function requestsAbout(text: string) {
  const response = await fetch(`${app.url}/simulated/model/requests?contains=${encodeURIComponent(text)}`);
  return ((await response.json()) as { requests: { messages: { role: string; content: string }[] }[] })
    .requests;
}

describe('a campaign that wants its messages written by the model', () => {
  it('sends what the model wrote, step by step, with what it cost', async () => {
    const { newList, newCampaign, statusOf, messagesOf, written, textsTo } = await desk();
    const [ada, bob] = [phone(), phone()];
    const { listId } = await newList([
      { firstName: 'Ada', phone: ada },
      { firstName: 'Bob', phone: bob },
    ]);
    const id = await newCampaign({ ...personalized, listId, steps: [now, { message: 'And two' }] });
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await textsTo(ada)).toEqual(['One, Ada (Written for Ada.)', 'And two (Written for Ada.)']);
    expect(await textsTo(bob)).toEqual(['One, Bob (Written for Bob.)', 'And two (Written for Bob.)']);
    expect((await messagesOf(id)).map(({ message }: Message) => message)).toContain(
      'One, Ada (Written for Ada.)',
    );
    const progress = await written(id);
    expect(progress).toMatchObject({ waiting: 0, written: 4, failed: 0, lastError: null });
    expect(progress.promptTokens).toBeGreaterThan(0);
    expect(progress.completionTokens).toBeGreaterThan(0);
  });

  it('waits for its start, and keeps what is far away for later', async () => {
    const { api, newCampaign, stepsOf, step, written, textsTo } = await desk();
    const to = phone();
    const id = await newCampaign({ needsAiPersonalization: true });
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to } })).body;
    expect((await stepsOf(id, leadId)).map(({ holdReason }) => holdReason)).toEqual([
      'personalization',
      'previous_step',
    ]);
    expect(await written(id)).toMatchObject({ waiting: 1, written: 0 });
    await api('POST', `/api/campaigns/${id}/start`);
    await step(id, leadId, 0, 'delivered');
    expect(await textsTo(to)).toEqual(['One,  (Written for you.)']);
    expect((await stepsOf(id, leadId))[1]).toMatchObject({
      status: 'scheduled',
      holdReason: 'personalization',
      message: 'Two',
    });
    expect(await written(id)).toMatchObject({ waiting: 1, written: 1 });
  });

  it.each([
    ['timeout', 'did not respond within 2 s'],
    ['429', 'rate limit is reached'],
    ['500', 'responded 500'],
    ['garbage', 'not the JSON that was asked for'],
    ['refusal', 'refused to answer'],
    ['link', 'has a link that the message does not have'],
  ])('sends the template where the model fails (%s), and tells the operator why', async (fault, reason) => {
    const { api, lineId, newCampaign, statusOf, stepsOf, written, textsTo, hasLeft } = await desk(
      `simulate:${fault}`,
    );
    const to = phone();
    const id = await newCampaign({ ...personalized, steps: [now] });
    const lead = { firstName: 'Ada', phone: to };
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead })).body;
    if (fault === 'timeout') {
      // Its line does not wait for the model.
      const other = { message: 'Meanwhile', recipientPhone: phone(), fromLineId: lineId };
      await hasLeft((await api('POST', '/api/messages', other)).body._id);
      expect((await stepsOf(id, leadId))[0]).toMatchObject({ holdReason: 'personalization' });
    }
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await textsTo(to)).toEqual(['One, Ada']);
    const progress = await written(id);
    expect(progress).toMatchObject({ waiting: 0, written: 0, failed: 1 });
    expect(progress.lastError).toContain(reason);
    const handle = app.temporal.workflow.getHandle(personalizerId(id));
    await handle.result();
    expect(JSON.stringify(await handle.query('__temporal_workflow_metadata'))).toContain(reason);
  });

  it('cannot have a lead read out by a template', async () => {
    const { api, newCampaign, statusOf, textsTo } = await desk('simulate:template');
    const to = phone();
    const id = await newCampaign({ ...personalized, steps: [now] });
    await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to, notes: 'secret' } });
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await textsTo(to)).toEqual(['Hi { { notes }}{ % assign a = 1 %}']);
  });

  it('takes no orders from what is known of a contact', async () => {
    const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');
    const instructions = `Only ever be kind, says ${newId()}.`;
    const { newList, newCampaign, statusOf } = await desk(instructions);
    const hostile = HOSTILE_REPLIES.slice(0, 10);
    const { listId } = await newList(
      hostile.map((text) => ({
        firstName: oneLine(text).slice(0, 500),
        notes: text,
        customFields: { [oneLine(text).slice(0, 100)]: text },
        phone: phone(),
      })),
    );
    const id = await newCampaign({ ...personalized, listId, steps: [now] });
    await eventually(async () => (await statusOf(id)) === 'completed');
    const requests = await requestsAbout(instructions);
    expect(requests).toHaveLength(hostile.length);
    const [expected] = requests[0]?.messages ?? [];
    for (const { messages } of requests) {
      expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
      expect(messages[0]).toEqual(expected);
      expect(Object.keys(JSON.parse(messages[1]?.content ?? ''))).toEqual(['message', 'contact']);
    }
  });

  it('sends nothing to a lead who replies while the model writes', async () => {
    const { api, lineId, newCampaign, statusOf, stepsOf, textsTo } = await desk('simulate:timeout');
    const to = phone();
    const id = await newCampaign({ ...personalized, steps: [now] });
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to } })).body;
    await callBack(app, lineId, replyEvent(to, 'I know already'));
    await eventually(async () => (await statusOf(id)) === 'completed');
    await app.temporal.workflow.getHandle(personalizerId(id)).result();
    expect((await stepsOf(id, leadId))[0]).toMatchObject({ status: 'canceled', message: now.message });
    expect(await textsTo(to)).toEqual([]);
  });
});
