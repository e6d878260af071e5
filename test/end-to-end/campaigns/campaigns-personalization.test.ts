import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import type { Message } from '#domain/messages/message.ts';
import { HOSTILE_REPLIES } from '#test/fixtures/hostile-replies.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { campaignHelpers, now } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { personalizerId } from '#workflows/protocol/workflow-ids.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({ environment: { LLM_TIMEOUT_SECONDS: '2' } });
});
afterAll(() => app.stop());

/** Creates a workspace whose instructions select the behaviour of the simulated model. */
async function createDesk(instructions = '') {
  const workspace: TestWorkspace = await createWorkspace(app);
  const api: ApiClient = apiClient(app.url, workspace.key);
  const lineId = await createLine(app, workspace.id);
  await api('PUT', '/api/knowledge-base', { mode: 'off', instructions });
  const world = campaignHelpers(() => ({ app, workspace, api }));
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

describe('a campaign with AI personalization', () => {
  it('sends the texts that the model wrote, and reports the tokens used', async () => {
    const { newList, newCampaign, statusOf, messagesOf, written, textsTo } = await createDesk();
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

  it('writes a message only after the start and shortly before it is due', async () => {
    const { api, newCampaign, stepsOf, step, written, textsTo } = await createDesk();
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
    ['500', 'responded 500 (server_error)'],
    ['garbage', 'does not match the requested JSON schema'],
    ['refusal', 'refused to answer'],
    ['link', 'has a link that the message does not have'],
  ])('sends the template if the model fails with %s, and operators see the reason', async (fault, reason) => {
    const { api, lineId, newCampaign, statusOf, stepsOf, written, textsTo, hasLeft } = await createDesk(
      `simulate:${fault}`,
    );
    const to = phone();
    const id = await newCampaign({ ...personalized, steps: [now] });
    const lead = { firstName: 'Ada', phone: to };
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead })).body;
    if (fault === 'timeout') {
      // The line does not wait for the model.
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

  it("does not insert a lead's fields into a template that the model wrote", async () => {
    const { api, newCampaign, statusOf, textsTo } = await createDesk('simulate:template');
    const to = phone();
    const id = await newCampaign({ ...personalized, steps: [now] });
    await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to, notes: 'secret' } });
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await textsTo(to)).toEqual(['Hi { { notes }}{ % assign a = 1 %}']);
  });

  it("never passes a contact's fields as instructions to the model", async () => {
    const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');
    const instructions = `Only ever be kind, says ${newId()}.`;
    const { newList, newCampaign, statusOf } = await createDesk(instructions);
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

  it('sends nothing to a lead who replies while the model is writing', async () => {
    const { api, lineId, newCampaign, statusOf, stepsOf, textsTo } = await createDesk('simulate:timeout');
    const to = phone();
    const id = await newCampaign({ ...personalized, steps: [now] });
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to } })).body;
    await callBack(app, lineId, replyEvent(to, 'I know already'));
    await eventually(async () => (await statusOf(id)) === 'completed');
    await app.temporal.workflow.getHandle(personalizerId(id)).result();
    expect((await stepsOf(id, leadId))[0]).toMatchObject({ status: 'canceled', message: now.message });
    expect(await textsTo(to)).toEqual([]);
  });

  it('sends no text that the model wrote from a template that was edited meanwhile', async () => {
    const marker = `Be kind, says ${newId()}.`;
    const { api, newCampaign, statusOf, textsTo } = await createDesk(`simulate:slow ${marker}`);
    const to = phone();
    const id = await newCampaign({ ...personalized, steps: [now] });
    await api('POST', `/api/campaigns/${id}/leads`, { lead: { firstName: 'Ada', phone: to } });
    await eventually(async () => (await requestsAbout(marker)).length === 1);
    const [step] = (await api('GET', `/api/campaigns/${id}`)).body.campaign.steps;
    const steps = [{ ...step, message: 'Correct, {{firstName}}' }];
    expect((await api('PATCH', `/api/campaigns/${id}`, { steps })).status).toBe(200);
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await textsTo(to)).toEqual(['Correct, Ada (Written for Ada.)']);
  });
});
