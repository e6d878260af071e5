import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createLead, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => void (workspace = await createWorkspaceWithLine(app)));

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();
const edit = (id: string, message: string) => workspace.api('PATCH', `/api/messages/${id}`, { message });

test('a line shows what its carrier can do, and a message says what it cannot', async () => {
  const { api, lineId } = workspace;
  const { line } = (await api('GET', `/api/lines/${lineId}`)).body;
  expect(line.capabilities).toEqual(expect.arrayContaining(['voice_notes', 'attachments']));
  const request = await api('POST', '/api/line-requests', {
    channelType: 'sms',
    firstName: 'Dana',
    lastName: 'Doe',
  });
  const smsLine = request.body.line._id;
  await eventually(async () => (await api('GET', `/api/lines/${smsLine}`)).body.line.isActive);
  expect((await api('GET', `/api/lines/${smsLine}`)).body.line.capabilities).toEqual(['attachments']);
  const { body } = await api('POST', '/api/messages', {
    message: 'Listen to this',
    messageType: 'sms',
    recipientPhone: phone(),
    voiceNote: true,
  });
  expect(body.warnings).toEqual([
    expect.objectContaining({ code: 'unsupported_effect', capability: 'voice_notes' }),
  ]);
});

describe('the text of a message that has not been sent', () => {
  it('is also that of an SMS that is sent instead, unless that has its own', async () => {
    const { api, lineId } = workspace;
    await api('PATCH', '/api/workspace/fallback-config', { enabled: true, provider: 'simulated' });
    const [to, other] = [phone(), phone()];
    const original = await api('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: to,
      scheduledDate: inAnHour(),
    });
    await api('POST', `/api/lines/${lineId}/pause`);
    const sms = await api('POST', '/api/fallback-sms', {
      messageId: original.body._id,
      message: 'On Tusday?',
    });
    const own = await api('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: other,
      forceFallback: true,
      smsFallbackMessage: 'Please write back',
    });
    for (const { body } of [sms, own]) expect((await edit(body._id, 'On Tuesday?')).status).toBe(200);
    await api('POST', `/api/lines/${lineId}/resume`);
    for (const [number, text] of [
      [to, 'On Tuesday?'],
      [other, 'Please write back'],
    ] as const) {
      const [sent] = await eventually(async () => {
        const found = await sentTo(app, number);
        return found.length > 0 && found;
      });
      expect(sent?.text).toBe(text);
    }
  });

  it('can be replaced; the message keeps its place, and everybody is told', async () => {
    const { api } = workspace;
    const endpoint = await startTestEndpoint();
    await registerWebhook(api, endpoint.url, { events: ['message.edited'] });
    const to = phone();
    const leadId = await createLead(app, workspace.id, { phones: [to] });
    const scheduled = await api('POST', '/api/messages', {
      message: 'Hello',
      leadId,
      scheduledDate: inAnHour(),
    });
    const id = scheduled.body._id;

    const { status, body } = await edit(id, 'Dear {{ firstName }}, is Tuesday better?');
    expect([status, body.message]).toEqual([200, 'Dear {{ firstName }}, is Tuesday better?']);
    expect(body.scheduledDate).toBe(scheduled.body.scheduledDate);

    const event = await eventually(async () => endpoint.received[0]?.json);
    expect(event).toMatchObject({
      event: 'message.edited',
      messageId: id,
      leadId,
      message: { messageId: id, direction: 'out', toPhone: to, message: body.message },
    });
    const { events } = (await api('GET', `/api/messages/${id}/timeline`)).body;
    expect(events.map(({ type }: { type: string }) => type)).toEqual(
      expect.arrayContaining(['accepted', 'edited']),
    );
    const session = await sessionClient(app, {
      userId: workspace.ownerId,
      organizationId: workspace.id,
      role: 'org:admin',
    });
    const { entries } = (await session('GET', '/api/audit-log')).body;
    expect(entries).toContainEqual(
      expect.objectContaining({ action: 'message.edited', target: { type: 'message', id } }),
    );
    expect(JSON.stringify(entries)).not.toContain('Tuesday');

    await api('POST', `/api/messages/${id}/cancel`);
    expect((await edit(id, 'Too late')).body.code).toBe('INVALID_STATE');
  });

  it('is the one that is sent', async () => {
    const { api } = workspace;
    const to = phone();
    const { body } = await api('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: to,
      scheduledDate: new Date(Date.now() + 3000).toISOString(),
    });
    expect((await edit(body._id, 'Hello again')).status).toBe(200);
    await eventually(async () => (await api('GET', `/api/messages/${body._id}`)).body.status === 'delivered');
    expect(await sentTo(app, to)).toMatchObject([{ text: 'Hello again' }]);
  });

  it('is checked like that of a new message, for its contact', async () => {
    const { api } = workspace;
    const { body } = await api('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: phone(),
      scheduledDate: inAnHour(),
    });
    for (const text of ['', '{{ firstName }}', '{% broken', 'a'.repeat(10_001)]) {
      const refused = await edit(body._id, text);
      expect([refused.status, refused.body.code]).toEqual([400, 'VALIDATION_ERROR']);
    }
    expect((await api('GET', `/api/messages/${body._id}`)).body.message).toBe('Hello');
  });
});
