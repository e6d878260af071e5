import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { planSends } from '#db/commands/sending/send-plan.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;

beforeAll(async () => void (app = await sharedApp()));
// The second message of a line would wait for an hour.
beforeEach(async () => {
  workspace = await createWorkspaceWithLine(app, {
    line: { min_gap_seconds: 3600, contact_gap_seconds: 3600, daily_total_limit: 1, daily_new_limit: 1 },
  });
});

const call = (method: string, path: string, body?: object) => workspace.api(method, path, body);
const message = async (id: string) => (await call('GET', `/api/messages/${id}`)).body;
const statusIs = (id: string, status: string) =>
  eventually(async () => {
    const found = await message(id);
    return found.status === status && found;
  });

test('bubbles are sent in order with one place under the limits, whatever the gaps', async () => {
  const to = phone();
  const { status, body } = await call('POST', '/api/messages', {
    message: ['Hi {{ firstName | default: "there" }}', 'A short question:', 'Is Tuesday fine?'],
    recipientPhone: to,
    effect: 'slam',
  });
  expect([status, body.message, body.bubbleIds.length]).toEqual([
    201,
    'Hi {{ firstName | default: "there" }}',
    2,
  ]);
  for (const id of [body._id, ...body.bubbleIds]) await statusIs(id, 'delivered');
  const sent = await sentTo(app, to);
  expect(sent.map(({ text, effect }) => [text, effect])).toEqual([
    ['Hi there', 'slam'],
    ['A short question:', undefined],
    ['Is Tuesday fine?', undefined],
  ]);
  const { line } = (await call('GET', `/api/lines/${workspace.lineId}`)).body;
  expect([line.usage.totalMessages, line.usage.newMessages]).toEqual([1, 1]);
  const [second] = body.bubbleIds;
  expect((await message(second)).bubbleOf).toBe(body._id);
  const { messages } = (await call('GET', `/api/conversations/${encodeURIComponent(to)}`)).body;
  expect(messages).toHaveLength(3);
});

test('bubbles that have not left are canceled if the contact writes', async () => {
  const to = phone();
  const { body } = await call('POST', '/api/messages', {
    message: ['One', 'Two'],
    recipientPhone: to,
    scheduledDate: new Date(Date.now() + 3_600_000).toISOString(),
  });
  expect((await message(body.bubbleIds[0])).holdReason).toBe('previous_step');
  await writeIn(app, { lineId: workspace.lineId, from: to, text: 'Stop by tomorrow' });
  for (const id of [body._id, ...body.bubbleIds]) await statusIs(id, 'canceled');
  expect(await sentTo(app, to)).toEqual([]);
});

test('bubbles after one that fails or is canceled are canceled', async () => {
  const failed = await call('POST', '/api/messages', {
    message: ['One', 'Two'],
    recipientPhone: phone('0002'),
  });
  await statusIs(failed.body._id, 'failed');
  await statusIs(failed.body.bubbleIds[0], 'canceled');
  const waiting = await call('POST', '/api/inbox/send-reply', {
    message: ['One', 'Two', 'Three'],
    phone: phone(),
    scheduledDate: new Date(Date.now() + 3_600_000).toISOString(),
  });
  expect(waiting.status).toBe(201);
  await call('POST', `/api/messages/${waiting.body._id}/cancel`);
  for (const id of waiting.body.bubbleIds) await statusIs(id, 'canceled');
});

describe('bubbles to a contact who is reached by SMS', () => {
  const smsTo = async (to: string) =>
    (await sentTo(app, to)).filter(({ channel }) => channel === 'sms').map(({ text }) => text);
  const write = (to: string, fields: object) =>
    call('POST', '/api/messages', { message: ['One', 'Two', 'Three'], recipientPhone: to, ...fields });

  beforeEach(async () => {
    await call('PATCH', '/api/workspace/fallback-config', { enabled: true, provider: 'simulated' });
  });

  it.each([
    ['are all sent by SMS, in order, if the contact has no iMessage', '0001', { smsFallbackEnabled: true }],
    ['are all sent by SMS, in order, if they are to be', undefined, { forceFallback: true }],
  ])('%s', async (_, ending, fields) => {
    const to = phone(ending);
    const { body } = await write(to, fields);
    for (const id of [body._id, ...body.bubbleIds])
      await eventually(async () => (await message(id)).fallbackSmsDispatched);
    expect(await smsTo(to)).toEqual(['One', 'Two', 'Three']);
    expect((await message(body.bubbleIds[1])).status).toBe('fallback');
  });

  it('are replaced by the text for the SMS, once', async () => {
    const to = phone('0001');
    const { body } = await write(to, { smsFallbackEnabled: true, smsFallbackMessage: 'Please write back' });
    await eventually(async () => (await message(body._id)).fallbackSmsDispatched);
    for (const id of body.bubbleIds) await statusIs(id, 'canceled');
    expect(await smsTo(to)).toEqual(['Please write back']);
  });

  it('are canceled if the SMS of the one before is refused', async () => {
    const { body } = await write(phone('0002'), { forceFallback: true });
    for (const id of body.bubbleIds) await statusIs(id, 'canceled');
    expect(await message(body._id)).toMatchObject({ status: 'fallback', fallbackSmsDispatched: false });
  });
});

test('bubbles wait for a line that stops in between, which does not look for them all the time', async () => {
  const { body } = await call('POST', '/api/messages', { message: ['One', 'Two'], recipientPhone: phone() });
  await eventually(async () => (await message(body._id)).sentAt !== null);
  await call('PATCH', `/api/lines/${workspace.lineId}`, { isActive: false });
  const later = new Date(Date.now() + 10_000);
  const plan = await withTenant(app.pools, workspace.id, (db) =>
    planSends(db, workspace.lineId, 1000, () => later),
  );
  expect(plan).toMatchObject({ claims: [], nextAt: null });
  await call('PATCH', `/api/lines/${workspace.lineId}`, { isActive: true });
  await statusIs(body.bubbleIds[0], 'delivered');
});

test('bubbles are 2 to 5 texts, and no emails', async () => {
  for (const texts of [['One'], ['1', '2', '3', '4', '5', '6'], ['One', ' '], ['One', '{{']]) {
    const { status, body } = await call('POST', '/api/messages', { message: texts, recipientPhone: phone() });
    expect([status, body.issues[0].path.split('.')[0]]).toEqual([400, 'message']);
  }
  expect((await call('POST', '/api/messages', { message: 5, recipientPhone: phone() })).body.error).toBe(
    'message: must be a text, or 2 to 5 texts',
  );
  await createLine(app, workspace.id, 'email');
  const { status, body } = await call('POST', '/api/messages', {
    message: ['One', 'Two'],
    messageType: 'email',
    recipientEmail: 'ada@contact.example',
  });
  expect([status, body.issues[0].path]).toEqual([400, 'message']);
});
