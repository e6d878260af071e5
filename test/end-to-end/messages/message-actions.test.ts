import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { planActions, settleAction } from '#db/commands/messages/message-actions.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { lockLine } from '#db/queries/lines/lines.ts';
import { newId } from '#domain/base/ids.ts';
import { age } from '#test/support/age.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type Endpoint, registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine, insertRow, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { deliverMessage } from '#test/support/messages.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
let endpoint: Endpoint;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => {
  workspace = await createWorkspaceWithLine(app);
  endpoint = await startTestEndpoint();
  await registerWebhook(workspace.api, endpoint.url, {
    events: ['message.edited', 'message.unsent', 'message.reaction'],
  });
});

const call = (method: string, path: string, body?: object) => workspace.api(method, path, body);
const message = async (id: string) => (await call('GET', `/api/messages/${id}`)).body;
const thread = async (of: string) =>
  (await call('GET', `/api/conversations/${encodeURIComponent(of)}`)).body.messages ?? [];
const react = (id: string, body: object) => call('POST', `/api/messages/${id}/reactions`, body);
const told = () => eventually(async () => endpoint.received[0]?.json);
/** What the carrier was asked to do. */
async function done(to: string): Promise<{ messageId: string; action: object; at: string }[]> {
  const response = await fetch(`${app.url}/simulated/carrier/actions?to=${encodeURIComponent(to)}`);
  return ((await response.json()) as { actions: { messageId: string; action: object; at: string }[] })
    .actions;
}

describe('a message that was sent', () => {
  it('is edited at the carrier, up to five times within 15 minutes', async () => {
    const to = phone();
    const id = await deliverMessage(workspace.api, { recipientPhone: to });
    const edited = await call('PATCH', `/api/messages/${id}`, { message: 'Hello again' });
    expect([edited.status, edited.body]).toEqual([202, { success: true, status: 'pending' }]);
    await eventually(async () => (await message(id)).editedAt !== null);
    expect((await message(id)).message).toBe('Hello again');
    expect(await told()).toMatchObject({
      event: 'message.edited',
      message: { messageId: id, direction: 'out', toPhone: to, message: 'Hello again' },
    });
    expect(await done(to)).toMatchObject([{ action: { kind: 'edit', text: 'Hello again' } }]);
    expect(await sentTo(app, to)).toHaveLength(1);
    const { events } = (await call('GET', `/api/messages/${id}/timeline`)).body;
    expect(events.filter(({ type }: { type: string }) => type === 'edited')).toHaveLength(1);

    for (let times = 1; times < 5; times += 1)
      expect((await call('PATCH', `/api/messages/${id}`, { message: `${times}` })).status).toBe(202);
    expect((await call('PATCH', `/api/messages/${id}`, { message: 'Six' })).body.code).toBe('INVALID_STATE');
  });

  it('is taken back within two minutes, and no longer shown', async () => {
    const to = phone();
    const id = await deliverMessage(workspace.api, { recipientPhone: to });
    const refusals = async () => [
      (await react(id, { reaction: 'love' })).body.code,
      (await call('PATCH', `/api/messages/${id}`, { message: 'Too late' })).body.code,
    ];
    await call('POST', `/api/lines/${workspace.lineId}/pause`);
    // Asked for twice, it is taken back once.
    const answers = await Promise.all([1, 2].map(() => call('POST', `/api/messages/${id}/unsend`)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    expect(await refusals()).toEqual(['INVALID_STATE', 'INVALID_STATE']);
    await call('POST', `/api/lines/${workspace.lineId}/resume`);
    await eventually(async () => (await message(id)).unsentAt !== null);
    expect(await told()).toMatchObject({
      event: 'message.unsent',
      message: { messageId: id, direction: 'out', toPhone: to },
    });
    expect(await thread(to)).toMatchObject([{ messageId: id, message: '' }]);
    expect(await refusals()).toEqual(['INVALID_STATE', 'INVALID_STATE']);
    const { events } = (await call('GET', `/api/messages/${id}/timeline`)).body;
    expect(events.filter(({ type }: { type: string }) => type === 'unsent')).toHaveLength(1);
  });

  it('is neither edited nor taken back later', async () => {
    const id = await deliverMessage(workspace.api, { recipientPhone: phone() });
    await age(app.pools, 'messages', ['sent_at'], '20 minutes', `id = '${id}'`);
    for (const [method, path, body] of [
      ['PATCH', '', { message: 'Late' }],
      ['POST', '/unsend', undefined],
    ] as const) {
      const { status, body: answer } = await call(method, `/api/messages/${id}${path}`, body);
      expect([status, answer.code]).toEqual([409, 'INVALID_STATE']);
    }
  });

  it('is left alone by a line that cannot', async () => {
    const request = await call('POST', '/api/line-requests', {
      channelType: 'sms',
      firstName: 'Dana',
      lastName: 'Doe',
    });
    await eventually(
      async () => (await call('GET', `/api/lines/${request.body.line._id}`)).body.line.isActive,
    );
    const id = await deliverMessage(workspace.api, { messageType: 'sms', recipientPhone: phone() });
    const refused = [
      [await call('PATCH', `/api/messages/${id}`, { message: 'No' }), 'edit'],
      [await call('POST', `/api/messages/${id}/unsend`), 'unsend'],
      [await react(id, { reaction: 'love' }), 'reactions'],
    ] as const;
    for (const [{ status, body }, capability] of refused)
      expect([status, body.code, body.capability]).toEqual([409, 'UNSUPPORTED_BY_CARRIER', capability]);
  });
});

test('what a line does comes 2 seconds after its last message, and after what it did before', async () => {
  const id = await deliverMessage(workspace.api, { recipientPhone: phone() });
  const start = new Date(Date.now() + 60_000);
  const after = (ms: number) => new Date(start.getTime() + ms);
  const row = { workspace_id: workspace.id, line_id: workspace.lineId, message_id: id, kind: 'reaction' };
  for (const [at, reaction] of ['love', 'like'].entries())
    await insertRow(app, 'message_actions', {
      ...row,
      id: newId(after(at)),
      content: JSON.stringify({ reaction, removed: false }),
      due_at: start,
      expires_at: after(600_000),
    });
  await insertRow(app, 'message_actions', {
    ...row,
    id: newId(after(-3000)),
    content: JSON.stringify({ reaction: 'laugh', removed: false }),
    status: 'done',
    due_at: after(-3000),
    expires_at: after(600_000),
    started_at: after(-3000),
    finished_at: after(-500),
  });
  const planAt = (now: Date, lastSentAt: Date | null = null) =>
    withTenant(app.pools, workspace.id, async (db) => {
      const line = await lockLine(db, workspace.lineId);
      if (!line) throw new Error('there is no such line');
      const { claimed, nextAt } = await planActions(db, line, lastSentAt, 1000, now);
      if (claimed) await settleAction(db, claimed.row, line, { kind: 'accepted' });
      return { reaction: claimed && (claimed.row.action as { reaction: string }).reaction, nextAt };
    });
  expect(await planAt(after(1000))).toEqual({ reaction: null, nextAt: after(1500) });
  expect(await planAt(after(1000), start)).toEqual({ reaction: null, nextAt: after(2000) });
  expect(await planAt(after(2000), start)).toEqual({ reaction: 'love', nextAt: after(4000) });
  expect(await planAt(after(3000), start)).toEqual({ reaction: null, nextAt: after(4000) });
  expect(await planAt(after(4000), start)).toEqual({ reaction: 'like', nextAt: null });
});

describe('a reaction', () => {
  it('to a message of ours or of a contact is sent once, and shown', async () => {
    const to = phone();
    const id = await deliverMessage(workspace.api, { recipientPhone: to });
    await writeIn(app, { lineId: workspace.lineId, from: to, text: 'Yes' });
    const { messageId: replyId } = await eventually(async () =>
      (await thread(to)).find(({ direction }: { direction: string }) => direction === 'in'),
    );
    const answer = await react(replyId, { reaction: 'love' });
    expect([answer.status, answer.body]).toEqual([202, { success: true, status: 'pending' }]);
    expect((await react(id, { reaction: 'emoji', emoji: '🔥' })).status).toBe(202);
    const of = async (messageId: string) =>
      (await thread(to)).find((item: { messageId: string }) => item.messageId === messageId).reactions;
    await eventually(async () => (await of(id))[0]?.status === 'sent');
    expect(await of(replyId)).toMatchObject([{ by: 'us', reaction: 'love', status: 'sent' }]);
    expect((await message(id)).reactions).toMatchObject([{ by: 'us', reaction: 'emoji', emoji: '🔥' }]);
    const [first, second, ...more] = await done(to);
    expect([first?.action, second?.action, more]).toEqual([
      { kind: 'reaction', reaction: 'love', removed: false },
      { kind: 'reaction', reaction: 'emoji', emoji: '🔥', removed: false },
      [],
    ]);
    expect(await told()).toMatchObject({
      event: 'message.reaction',
      messageId: replyId,
      message: { direction: 'out', reaction: 'love', removed: false, toPhone: to },
    });
    // In no cap.
    const { line } = (await call('GET', `/api/lines/${workspace.lineId}`)).body;
    expect(line.usage.totalMessages).toBe(1);

    expect((await react(replyId, { reaction: 'like', remove: true })).body.code).toBe('INVALID_STATE');
    expect((await react(replyId, { reaction: 'love', remove: true })).status).toBe(202);
    await eventually(async () => (await of(replyId)).length === 0);
  });

  it('fails if the carrier refuses it', async () => {
    const from = phone('0002');
    await writeIn(app, { lineId: workspace.lineId, from, text: 'Hello' });
    const [{ messageId }] = await eventually(async () => {
      const found = await thread(from);
      return found.length > 0 && found;
    });
    expect((await react(messageId, { reaction: 'like' })).status).toBe(202);
    await eventually(async () => (await thread(from))[0].reactions[0]?.status === 'failed');
  });

  it('needs one of the six or an emoji, and a contact who may be written to', async () => {
    const to = phone();
    const id = await deliverMessage(workspace.api, { recipientPhone: to });
    for (const body of [{ reaction: 'sad' }, { reaction: 'emoji' }, { reaction: 'love', emoji: '🔥' }])
      expect((await react(id, body)).body.code).toBe('VALIDATION_ERROR');
    for (const emoji of ['👍👍', '1', '🇩🇪🇫🇷'])
      expect((await react(id, { reaction: 'emoji', emoji })).body.code).toBe('VALIDATION_ERROR');
    for (const emoji of ['1️⃣', '🇩🇪', '👨‍👩‍👧', '❤'])
      expect((await react(id, { reaction: 'emoji', emoji })).status).toBe(202);
    await call('POST', '/api/opt-outs', { address: to });
    expect((await react(id, { reaction: 'love' })).body.code).toBe('INVALID_STATE');
  });
});

describe('a contact who has opted out', () => {
  it('gets no new text of a message that was sent before, and may see it taken back', async () => {
    const to = phone();
    const id = await deliverMessage(workspace.api, { recipientPhone: to });
    await writeIn(app, { lineId: workspace.lineId, from: to, text: 'STOP' });
    await eventually(async () => (await call('GET', `/api/opt-outs/${to}`)).body.optedOut);
    const edited = await call('PATCH', `/api/messages/${id}`, { message: 'Wait, buy this' });
    expect([edited.status, edited.body.code]).toEqual([409, 'INVALID_STATE']);
    expect((await call('POST', `/api/messages/${id}/unsend`)).status).toBe(202);
    await eventually(async () => (await message(id)).unsentAt !== null);
    expect(await done(to)).toMatchObject([{ action: { kind: 'unsend' } }]);
  });

  it('gets neither a text nor a reaction that was asked for before', async () => {
    const to = phone();
    const id = await deliverMessage(workspace.api, { recipientPhone: to });
    await call('POST', `/api/lines/${workspace.lineId}/pause`);
    expect((await call('PATCH', `/api/messages/${id}`, { message: 'Wait, buy this' })).status).toBe(202);
    expect((await react(id, { reaction: 'love' })).status).toBe(202);
    await call('POST', '/api/opt-outs', { address: to });
    await call('POST', `/api/lines/${workspace.lineId}/resume`);
    await eventually(async () => (await message(id)).reactions[0]?.status === 'failed');
    const { events } = (await call('GET', `/api/messages/${id}/timeline`)).body;
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'edited',
        data: expect.objectContaining({ reason: 'recipient_opted_out' }),
      }),
    );
    expect(await done(to)).toEqual([]);
    expect((await message(id)).message).not.toBe('Wait, buy this');
  });
});

test('what a crash has left open is not repeated', async () => {
  const to = phone();
  const id = await deliverMessage(workspace.api, { recipientPhone: to });
  const before = new Date(Date.now() - 120_000);
  await insertRow(app, 'message_actions', {
    workspace_id: workspace.id,
    id: newId(before),
    line_id: workspace.lineId,
    message_id: id,
    kind: 'unsend',
    content: '{}',
    status: 'calling',
    due_at: before,
    expires_at: new Date(Date.now() + 60_000),
    started_at: before,
    answer_by: before,
  });
  expect((await react(id, { reaction: 'love' })).status).toBe(202);
  await eventually(async () => (await message(id)).reactions[0]?.status === 'sent');
  expect(await done(to)).toMatchObject([{ action: { reaction: 'love' } }]);
  const { events } = (await call('GET', `/api/messages/${id}/timeline`)).body;
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'unsent',
      data: expect.objectContaining({ reason: 'outcome_unknown' }),
    }),
  );
});
