import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { freePort } from '#providers/free-port.ts';
import { type SlackPerson, type SlackStandIn, startSlack } from '#simulator/slack.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type Copilot, createCopilot, createDraft, decideDraft, draftFor } from '#test/support/copilot.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createLead } from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: OwnApp;
let slack: SlackStandIn;
let receiver: Endpoint;

beforeAll(async () => {
  const port = await freePort();
  slack = await startSlack(`http://localhost:${port}/callbacks/chats/slack`);
  receiver = await startEndpoint();
  app = await startTestApp({
    environment: {
      PORT: String(port),
      PUBLIC_URL: `http://localhost:${port}`,
      SLACK_BOT_TOKEN: slack.token,
      SLACK_SIGNING_SECRET: slack.signingSecret,
      SLACK_API_URL: slack.url,
    },
  });
});
afterAll(async () => {
  await app.stop();
  await Promise.all([slack.stop(), receiver.close()]);
});

/** Links a channel for the workspace of a copilot. */
async function linkedChannel(desk: Copilot): Promise<{ channel: string; person: SlackPerson }> {
  const { id: organizationId, ownerId: userId } = desk.workspace;
  const owner = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
  const request = { provider: 'slack', scope: 'workspace' };
  const { status, body } = await owner('POST', '/api/chat-connections', request);
  expect(status).toBe(201);
  expect(body.linkUrl).toBe('slack://user?team=T1&id=UBOT');
  const [person, channel] = [slack.person(), slack.channel()];
  expect(await person.start(body.code, channel)).toContain('linked');
  return { channel, person };
}

const shownIn = (channel: string, text: string) =>
  eventually(async () => slack.messages.find((one) => one.channel === channel && one.text.includes(text)));

describe('in Slack, a draft', () => {
  it('is approved by a button, and answered by a text in its thread', async () => {
    const desk = await createCopilot(app, receiver);
    const { channel, person } = await linkedChannel(desk);
    const [first, second] = [phone(), phone()];
    const draft = await createDraft(desk, first, 'Is <!channel> free?');
    const message = await shownIn(channel, first);
    expect(message.text).toContain('Is <!channel> free?');
    expect(await slack.person().press(message, 'Approve')).toContain('Link your own account');
    expect(await person.press(message, 'Approve')).toBe('It is being sent.');
    await eventually(async () => message.buttons.length === 0 && message.text.includes('Approved by Owner'));
    expect(await draftFor(desk, first, 'approved')).toMatchObject({
      replyId: draft.replyId,
      approvalChannel: 'chat_app',
    });
    await createDraft(desk, second);
    const next = await shownIn(channel, second);
    // Slack knows the message a moment before its id is stored.
    await eventually(async () => (await person.reply(next, 'At &lt; six')) === 'It is being sent.');
    expect(await person.reply({ ...next, ts: '1.0' }, 'Thanks')).toContain('not open');
    await eventually(async () => (await sentTo(app, second))[0]?.text === 'At < six');
    expect(await draftFor(desk, second, 'approved')).toMatchObject({ approvalChannel: 'chat_app_edit' });
  });

  it('waits as long as Slack asks, and for a token that the operator mends', async () => {
    const desk = await createCopilot(app, receiver);
    const { channel } = await linkedChannel(desk);
    slack.fault(channel, 1, 'internal_error', 'token_revoked', 'account_inactive');
    const draft = await createDraft(desk);
    await shownIn(channel, draft.draftMessage);
    const { chatConnections } = (await desk.call('GET', '/api/chat-connections')).body;
    expect(chatConnections[0]).toMatchObject({ status: 'linked', error: null });
  });

  it.each([
    ['not_in_channel', 'the app is not in the channel (not_in_channel)'],
    ['is_archived', 'the channel is archived (is_archived)'],
    ['channel_not_found', 'the channel was deleted, or the app is not in it (channel_not_found)'],
  ])('says why nothing reaches a channel any more: %s', async (fault, reason) => {
    const desk = await createCopilot(app, receiver);
    const { channel } = await linkedChannel(desk);
    const draft = await createDraft(desk);
    const message = await shownIn(channel, draft.draftMessage);
    slack.fault(channel, fault);
    expect((await decideDraft(desk, draft.replyId, 'reject')).status).toBe(200);
    await eventually(async () => {
      const { chatConnections } = (await desk.call('GET', '/api/chat-connections')).body;
      return chatConnections[0].status === 'broken' && chatConnections[0].error === reason;
    });
    expect(message.buttons).toHaveLength(3);
  });

  it('is deleted with its contact', async () => {
    const desk = await createCopilot(app, receiver);
    const { channel } = await linkedChannel(desk);
    const contact = phone();
    const leadId = await createLead(app, desk.workspace.id, { phones: [contact] });
    await createDraft(desk, contact);
    const message = await shownIn(channel, contact);
    expect((await desk.call('DELETE', `/api/leads/${leadId}?erase=true`)).status).toBe(202);
    await eventually(async () => message.deleted);
  });
});

test('believes only requests that Slack signed a moment ago', async () => {
  const body = JSON.stringify({ type: 'url_verification', challenge: 'abc' });
  const answered = await slack.post(body);
  expect([answered.status, await answered.json()]).toEqual([200, { challenge: 'abc' }]);
  expect((await slack.post(body, { secret: 'other' })).status).toBe(401);
  expect((await slack.post(body, { ageSeconds: 600 })).status).toBe(401);
});
