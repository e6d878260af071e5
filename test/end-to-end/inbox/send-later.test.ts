import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => void (workspace = await createWorkspaceWithLine(app)));

const call = (method: string, path: string, body?: object) => workspace.api(method, path, body);
const message = async (id: string) => (await call('GET', `/api/messages/${id}`)).body;
const conversation = async (address: string) =>
  (await call('GET', `/api/conversations/${encodeURIComponent(address)}`)).body.conversation;
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

async function heard(from: string): Promise<void> {
  const before = (await conversation(from))?.lastInboundAt ?? null;
  await writeIn(app, { lineId: workspace.lineId, from, text: 'Which one?' });
  await eventually(async () => {
    const { lastInboundAt } = (await conversation(from)) ?? {};
    return lastInboundAt && lastInboundAt !== before;
  });
}
const reply = (phoneNumber: string, fields: object) =>
  call('POST', '/api/inbox/send-reply', { phone: phoneNumber, message: 'Still interested?', ...fields });

describe('an answer that is sent later', () => {
  it('is canceled if the contact writes before, unless it is to be sent anyway', async () => {
    const endpoint = await startTestEndpoint();
    await registerWebhook(workspace.api, endpoint.url, { events: ['message.canceled'] });
    const from = phone();
    await heard(from);
    const usual = await reply(from, { scheduledDate: inHours(24) });
    const anyway = await reply(from, { scheduledDate: inHours(25), cancelIfReply: false });
    // Such a moment is for taking it back.
    const soon = await reply(from, { scheduledDate: new Date(Date.now() + 30_000).toISOString() });
    expect([usual, anyway, soon].map(({ status, body }) => [status, body.cancelIfReply])).toEqual([
      [201, true],
      [201, false],
      [201, false],
    ]);
    await heard(from);
    const canceled = await eventually(async () => {
      const found = await message(usual.body._id);
      return found.status === 'canceled' && found;
    });
    expect(canceled.holdReason).toBe('reply');
    expect((await message(anyway.body._id)).status).toBe('scheduled');
    expect((await message(soon.body._id)).status).toBe('scheduled');
    const told = await eventually(async () => endpoint.received[0]?.json);
    expect(told).toMatchObject({ event: 'message.canceled', messageId: usual.body._id });
    expect(await sentTo(app, from)).toEqual([]);
  });

  it('is not canceled by an automatic reply', async () => {
    const from = phone();
    await heard(from);
    const { body } = await reply(from, { scheduledDate: inHours(24) });
    await writeIn(app, { lineId: workspace.lineId, from, text: 'I am driving', autoReply: true });
    await eventually(async () => {
      const { messages } = (await call('GET', `/api/conversations/${encodeURIComponent(from)}`)).body;
      return messages.some(({ autoReply }: { autoReply: boolean }) => autoReply);
    });
    expect((await message(body._id)).status).toBe('scheduled');
  });

  it('reminds of a contact who does not answer it', async () => {
    const from = phone();
    await heard(from);
    const { body } = await reply(from, { scheduledDate: inHours(1), remindIfNoReplyAfter: { days: 2 } });
    const { status, snoozedUntil } = await conversation(from);
    expect(status).toBe('snoozed');
    expect(Date.parse(snoozedUntil) - Date.parse(body.scheduledDate)).toBe(2 * 86_400_000);
    await heard(from);
    expect((await conversation(from)).status).toBe('open');
    const wrong = await reply(from, { remindIfNoReplyAfter: {} });
    expect([wrong.status, wrong.body.issues[0].path]).toEqual([400, 'remindIfNoReplyAfter']);
  });
});
