import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import {
  createLead,
  createLine,
  createWorkspace,
  createWorkspaceWithLine,
  insertRow,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { callBack } from '#test/support/inbound.ts';
import { outbound } from '#test/support/message-rows.ts';

let app: TestApp;
let workspace: TestWorkspace;
let lineId: string;
let call: ApiClient;

beforeAll(async () => void (app = await sharedApp()));
// One workspace per test: each may read messages 120 times a minute.
beforeEach(async () => {
  workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id);
  call = apiClient(app.url, workspace.key);
});

async function settled(id: string, ...statuses: string[]) {
  return eventually(async () => {
    const { body } = await call('GET', `/api/messages/${id}`);
    return statuses.includes(body.status) && body;
  });
}

test('a field in a template that no contact can have is a warning with the one that was meant', async () => {
  const own = await createWorkspaceWithLine(app);
  await own.api('POST', '/api/leads', {
    listId: (await own.api('POST', '/api/lists', { name: 'All' })).body.list._id,
    leads: [{ phone: phone(), customFields: { plan: 'pro' } }],
  });
  const message = 'Hi {{ first_name }}, your {{ customFields.paln }}';
  const unknown = [
    { code: 'unknown_field', name: 'first_name', suggestion: 'firstName' },
    { code: 'unknown_field', name: 'customFields.paln', suggestion: 'customFields.plan' },
  ];
  const of = ({ body }: { body: { warnings: { code: string }[] } }) =>
    body.warnings.filter(({ code }) => code === 'unknown_field');
  expect(of(await own.api('POST', '/api/messages', { message, recipientPhone: phone() }))).toMatchObject(
    unknown,
  );
  expect(of(await own.api('POST', '/api/drip', { message, recipientPhone: phone() }))).toMatchObject(unknown);
  const campaign = await own.api('POST', '/api/campaigns', { name: 'Spring', steps: [{ message }] });
  expect(of(campaign)).toMatchObject(unknown);
});

test('a list names the contact of a message that was sent to an address alone', async () => {
  const to = phone();
  await call('POST', '/api/leads', { leads: [{ firstName: 'Ada', lastName: 'Lee', phone: to }] });
  await call('POST', '/api/messages', { message: 'Hi', recipientPhone: to });
  await call('POST', '/api/messages', { message: 'Hi', recipientPhone: phone(), recipientName: 'Grace' });
  await call('POST', '/api/messages', { message: 'Hi', recipientPhone: phone() });
  expect((await call('GET', '/api/messages')).body.messages).toMatchObject([
    { contactName: null, recipientName: null },
    { contactName: 'Grace', recipientName: 'Grace' },
    { contactName: 'Ada Lee', recipientName: null, recipientPhone: to },
  ]);
});

test('what has left is listed by when it left, page by page, and nothing that waits', async () => {
  const at = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  // In the order of creation. An SMS in place of a message has no time of its own.
  const rows = [
    { sent_at: at(1), status: 'delivered' },
    { sent_at: at(3), status: 'sent' },
    { status: 'fallback', fallback_sms: 'dispatched', updated_at: at(2) },
    { sent_at: at(3), status: 'delivered' },
    { status: 'scheduled', scheduled_at: at(-60) },
    { status: 'failed' },
  ];
  const ids: string[] = [];
  for (const row of rows)
    ids.push(await outbound(app, workspace.id, phone(), at(10).toISOString(), { sent_at: null, ...row }));
  const listed = async (query: string) => {
    const { status, body } = await call('GET', `/api/messages?order=sent${query}`);
    expect(status).toBe(200);
    return { next: body.nextCursor, ids: body.messages.map(({ _id }: { _id: string }) => ids.indexOf(_id)) };
  };
  expect((await listed('')).ids).toEqual([0, 2, 3, 1]);
  const first = await listed('&limit=3');
  expect(first.ids).toEqual([0, 2, 3]);
  expect((await listed(`&limit=3&cursor=${first.next}`)).ids).toEqual([1]);
  expect((await listed('&status=delivered')).ids).toEqual([0, 3]);
});

describe('POST /api/messages', () => {
  it('sends a message through the line and reports its delivery', async () => {
    const to = phone();
    const { status, body } = await call('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      message: 'Hello',
      messageType: 'imessage',
      status: 'pending',
      fromLineId: lineId,
      recipientPhone: to,
    });

    const delivered = await settled(body._id, 'delivered');
    expect(delivered.sentAt).not.toBeNull();
    expect(await sentTo(app, to)).toEqual([
      expect.objectContaining({ text: 'Hello', lineId, channel: 'imessage' }),
    ]);
  });

  it("renders the template with the lead's fields when it is sent, and keeps showing the sent text", async () => {
    const to = phone();
    const leadId = await createLead(app, workspace.id, { first_name: 'Grace', phones: [to] });
    const { body } = await call('POST', '/api/messages', {
      message: 'Hi {{ firstName | default: "there" }}{{ nothing }}',
      leadId,
    });
    await settled(body._id, 'delivered');
    expect((await sentTo(app, to)).map(({ text }) => text)).toEqual(['Hi Grace']);
    await call('PATCH', `/api/leads/${leadId}`, { firstName: '{{ lastName }}' });
    expect((await call('GET', `/api/messages/${body._id}`)).body.message).toBe('Hi Grace');
    const thread = await call('GET', `/api/conversations/${to}`);
    expect([thread.body.conversation.lastMessage, thread.body.messages[0].message]).toEqual([
      'Hi Grace',
      'Hi Grace',
    ]);
    const today = new Date().toISOString().slice(0, 10);
    const day = await call('GET', `/api/analytics/conversations?date=${today}&timezone=UTC`);
    expect(day.body.conversations).toContainEqual(
      expect.objectContaining({ phone: to, lastMessage: 'Hi Grace' }),
    );
  });

  it('keeps a scheduled message until its time, and allows canceling it until then', async () => {
    const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
    const { body } = await call('POST', '/api/messages', {
      message: 'Later',
      recipientPhone: phone(),
      scheduledDate,
    });
    expect(body).toMatchObject({ status: 'scheduled', scheduledDate });
    const canceled = await call('POST', `/api/messages/${body._id}/cancel`);
    expect(canceled).toMatchObject({ status: 200, body: { status: 'canceled' } });
    expect(await call('POST', `/api/messages/${body._id}/cancel`)).toMatchObject({
      status: 409,
      body: { code: 'MESSAGE_NOT_CANCELABLE' },
    });
  });

  it.each([
    ['neither message nor attachments', { recipientPhone: '+14155550199' }, 'message'],
    ['a blank message', { message: '  ', recipientPhone: '+14155550199' }, 'message'],
    [
      'an unknown messageType',
      { message: 'x', recipientPhone: '+14155550199', messageType: 'fax' },
      'messageType',
    ],
    ['no recipient', { message: 'x' }, 'recipientPhone'],
    ['an invalid number', { message: 'x', recipientPhone: '12' }, 'recipientPhone'],
    [
      'an email message without an address',
      { message: 'x', messageType: 'email', recipientPhone: '+14155550199' },
      'recipientEmail',
    ],
    [
      'an attachment of another server',
      { message: 'x', recipientPhone: '+14155550199', attachmentUrls: ['https://example.com/a.png'] },
      'attachmentUrls.0',
    ],
    [
      'three attachments',
      { recipientPhone: '+14155550199', attachmentUrls: ['a', 'b', 'c'] },
      'attachmentUrls',
    ],
    ['an unknown zone', { message: 'x', recipientPhone: '+14155550199', timezone: 'Mars/Base' }, 'timezone'],
    [
      'an offset instead of a zone',
      { message: 'x', recipientPhone: '+14155550199', timezone: '+02:00' },
      'timezone',
    ],
    [
      'a send window with an invalid time',
      { message: 'x', recipientPhone: '+14155550199', sendWindowStart: '25:00' },
      'sendWindowStart',
    ],
    [
      'an invalid day',
      { message: 'x', recipientPhone: '+14155550199', allowedDaysOfWeek: [7] },
      'allowedDaysOfWeek.0',
    ],
    [
      'a date beyond a year',
      { message: 'x', recipientPhone: '+14155550199', scheduledDate: '2099-01-01T00:00:00Z' },
      'scheduledDate',
    ],
    ['a NUL character', { message: 'a\u0000b', recipientPhone: '+14155550199' }, 'message'],
    ['a number instead of a text', { message: 5, recipientPhone: '+14155550199' }, 'message'],
  ])('refuses %s and names the field', async (_, input, field) => {
    const { status, body } = await call('POST', '/api/messages', input);
    expect(status).toBe(400);
    expect(body.code).toBe('VALIDATION_ERROR');
    expect(body.issues.map(({ path }: { path: string }) => path)).toContain(field);
    expect(body.error).toContain(field.split('.')[0]);
  });

  it('schedules messages up to a year ahead and no later', async () => {
    const inOneYear = new Date();
    inOneYear.setUTCFullYear(inOneYear.getUTCFullYear() + 1);
    const at = (days: number) => new Date(inOneYear.getTime() + days * 86_400_000).toISOString();
    const schedule = (scheduledDate: string) =>
      call('POST', '/api/messages', { message: 'x', recipientPhone: phone(), scheduledDate });
    expect(await schedule(at(0))).toMatchObject({
      status: 201,
      body: { status: 'scheduled', scheduledDate: at(0) },
    });
    expect((await schedule(at(1))).body.issues).toMatchObject([{ path: 'scheduledDate' }]);
  });

  it('schedules in every form of a date, in the time zone of the request or of the workspace', async () => {
    const tokyo = await createWorkspaceWithLine(app, { workspace: { timezone: 'Asia/Tokyo' } });
    const day = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10);
    const schedule = (scheduledDate: string, timezone?: string) =>
      tokyo.api('POST', '/api/messages', { message: 'x', recipientPhone: phone(), scheduledDate, timezone });
    for (const [scheduledDate, timezone, expected] of [
      [`${day}T12:30:00+02:00`, 'Asia/Kolkata', `${day}T10:30:00.000Z`],
      [`${day}T12:30Z`, undefined, `${day}T12:30:00.000Z`],
      [`${day}T12:30:00.000+0200`, undefined, `${day}T10:30:00.000Z`],
      [`${day}t12:30:00z`, undefined, `${day}T12:30:00.000Z`],
      [`${day}T12:30:15`, undefined, `${day}T03:30:15.000Z`],
      [`${day}T12:30`, 'Asia/Kolkata', `${day}T07:00:00.000Z`],
      [day, undefined, new Date(Date.parse(`${day}T00:00Z`) - 9 * 3_600_000).toISOString()],
    ] as const) {
      const { status, body } = await schedule(scheduledDate, timezone);
      expect([status, body.scheduledDate], scheduledDate).toEqual([201, expected]);
    }
    for (const wrong of ['tomorrow', '2026-13-01', '12:30'])
      expect((await schedule(wrong)).body.issues, wrong).toMatchObject([{ path: 'scheduledDate' }]);
  });

  it('takes null and an empty text in an optional field for an absent one', async () => {
    const optional = [
      ['scheduledDate', 'timezone', 'sendWindowStart', 'sendWindowEnd', 'allowedDaysOfWeek'],
      ['messageType', 'recipientEmail', 'recipientName', 'leadId', 'fromLineId', 'poolId', 'subject'],
      ['attachmentUrls', 'voiceNote', 'smsFallbackMessage', 'correlationId', 'stepIndex', 'crmAContactId'],
    ].flat();
    for (const empty of [null, '']) {
      const fields = Object.fromEntries(optional.map((name) => [name, empty]));
      const message = { message: 'x', recipientPhone: phone() };
      expect(await call('POST', '/api/messages', { ...fields, ...message })).toMatchObject({
        status: 201,
        body: { messageType: 'imessage', attachmentUrls: [] },
      });
      const { status, body } = await call('POST', '/api/messages', {
        ...fields,
        ...message,
        recipientPhone: empty,
      });
      expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
    }
    expect((await call('POST', '/api/lists', { name: null })).body.issues).toMatchObject([{ path: 'name' }]);
    const { list } = (await call('POST', '/api/lists', { name: 'Spring' })).body;
    const update = (fields: object) => call('PATCH', `/api/lists/${list._id}`, fields);
    const description = 'Those of April';
    expect((await update({ name: '', description })).body.list).toMatchObject({
      name: 'Spring',
      description,
    });
    expect((await update({ name: '' })).body.issues).toMatchObject([{ path: 'name' }]);
    const leadId = await createLead(app, workspace.id, { phones: [phone()] });
    const contact = { leadId, phone: '', email: '', message: 'x' };
    for (const path of ['/api/inbox/send-reply', '/api/knowledge-base/drafts'])
      expect((await call('POST', path, contact)).status, path).toBe(201);
  });

  it('warns of a number that cannot exist, and refuses one of equal digits', async () => {
    const send = (recipientPhone: string) => call('POST', '/api/messages', { message: 'x', recipientPhone });
    const warned = await send('+19995550123');
    expect([warned.status, warned.body.warnings]).toMatchObject([201, [{ code: 'number_unlikely' }]]);
    expect((await send('+11111111111')).body.issues).toMatchObject([{ path: 'recipientPhone' }]);
  });

  it('returns 404 for a lead or a line of another workspace', async () => {
    const other = await createWorkspace(app);
    const leadId = await createLead(app, other.id, { phones: ['+14155550188'] });
    const otherLine = await createLine(app, other.id);
    expect(await call('POST', '/api/messages', { message: 'x', leadId })).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
    const named = { message: 'x', recipientPhone: phone(), fromLineId: otherLine };
    expect(await call('POST', '/api/messages', named)).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
  });

  it('returns NO_ACTIVE_LINE without an active line and FALLBACK_NOT_CONFIGURED without a fallback', async () => {
    const bare = await createWorkspace(app);
    const bareCall = apiClient(app.url, bare.key);
    expect(await bareCall('POST', '/api/messages', { message: 'x', recipientPhone: phone() })).toMatchObject({
      status: 400,
      body: { code: 'NO_ACTIVE_LINE' },
    });
    const wanted = { message: 'x', recipientPhone: phone(), sendFallbackSmsOnFailed: true };
    for (const caller of [call, bareCall]) {
      expect(await caller('POST', '/api/messages', wanted)).toMatchObject({
        status: 400,
        body: { code: 'FALLBACK_NOT_CONFIGURED' },
      });
    }
  });

  it('returns the first response for a repeated Idempotency-Key and sends once', async () => {
    const to = phone();
    const headers = { 'idempotency-key': `key-${to}` };
    const input = { message: 'Once', recipientPhone: to };
    const [first, second] = await Promise.all([
      call('POST', '/api/messages', input, headers),
      call('POST', '/api/messages', input, headers),
    ]);
    expect(first.body._id).toBe(second.body._id);
    expect([first, second].map(({ headers: h }) => h.get('idempotent-replayed')).filter(Boolean)).toEqual([
      'true',
    ]);
    expect(await call('POST', '/api/messages', { ...input, message: 'Other' }, headers)).toMatchObject({
      status: 409,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
    await settled(first.body._id, 'delivered');
    expect(await sentTo(app, to)).toHaveLength(1);
  });

  it('limits a workspace to 60 requests a minute and reports the limit in headers', async () => {
    const busy = await createWorkspace(app);
    const busyCall = apiClient(app.url, busy.key);
    const responses = await Promise.all(
      Array.from({ length: 65 }, () => busyCall('POST', '/api/messages', {})),
    );
    const limited = responses.filter(({ status }) => status === 429);
    expect(limited).toHaveLength(5);
    expect(limited[0]?.body).toMatchObject({ code: 'RATE_LIMITED', error: 'Rate limit exceeded' });
    expect(Number(limited[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(limited[0]?.headers.get('ratelimit-limit')).toBe('60');
  });
});

describe('a sent message', () => {
  const send = async (to: string, more: Record<string, unknown> = {}) =>
    (await call('POST', '/api/messages', { message: `To ${to}`, recipientPhone: to, ...more })).body
      ._id as string;

  it('fails if the carrier refuses it', async () => {
    const to = phone('0002');
    expect(await settled(await send(to), 'failed')).toMatchObject({ errorMessage: expect.any(String) });
    expect(await sentTo(app, to)).toEqual([]);
  });

  it('is retried after transient errors and sent once', async () => {
    const to = phone('0003');
    await settled(await send(to), 'delivered');
    expect(await sentTo(app, to)).toHaveLength(1);
  });

  it("is sent once even if the carrier's response is lost", async () => {
    const to = phone('0004');
    await settled(await send(to), 'sent', 'delivered');
    expect(await sentTo(app, to)).toHaveLength(1);
  });

  it('becomes a fallback for a recipient without iMessage, with an SMS if one was requested', async () => {
    await call('PATCH', '/api/workspace/fallback-config', {
      enabled: true,
      provider: 'simulated',
      fromNumber: '+14155550100',
    });
    const plain = phone('0001');
    expect(await settled(await send(plain), 'fallback')).toMatchObject({ fallbackSmsDispatched: false });
    expect(await sentTo(app, plain)).toEqual([]);

    const to = phone('0001');
    const id = await send(to, { smsFallbackEnabled: true, smsFallbackMessage: 'By SMS' });
    await eventually(
      async () => (await call('GET', `/api/messages/${id}`)).body.fallbackSmsDispatched === true,
    );
    expect(await sentTo(app, to)).toEqual([expect.objectContaining({ channel: 'sms', text: 'By SMS' })]);

    const refused = phone('0002');
    const refusedId = await send(refused, { sendFallbackSmsOnFailed: true });
    await eventually(
      async () => (await call('GET', `/api/messages/${refusedId}`)).body.fallbackSmsDispatched === true,
    );
    expect(await sentTo(app, refused)).toEqual([expect.objectContaining({ channel: 'sms' })]);

    // Without a phone number there is nobody to send an SMS to.
    const { body: email } = await call('POST', '/api/messages', {
      message: 'Hello',
      messageType: 'email',
      recipientEmail: 'fail@example.com',
      fromLineId: await createLine(app, workspace.id, 'email'),
      sendFallbackSmsOnFailed: true,
    });
    expect(await settled(email._id, 'failed', 'fallback')).toMatchObject({
      status: 'failed',
      fallbackSmsDispatched: false,
    });

    const forced = phone();
    const forcedId = await send(forced, { forceFallback: true });
    expect(await settled(forcedId, 'fallback')).toBeDefined();
    await eventually(async () => (await sentTo(app, forced)).length === 1);
    expect(await sentTo(app, forced)).toEqual([expect.objectContaining({ channel: 'sms' })]);
  });

  it('is followed by its SMS if its carrier reports later that it did not arrive', async () => {
    const line = await createWorkspaceWithLine(app);
    await line.api('PATCH', '/api/workspace/fallback-config', {
      enabled: true,
      provider: 'simulated',
      fromNumber: '+14155550100',
    });
    const [to, carrierMessageId] = [phone(), newId()];
    const sentAt = new Date(Date.now() - 60_000).toISOString();
    const messageId = await outbound(app, line.id, to, sentAt, {
      status: 'sent',
      line_id: line.lineId,
      send_fallback_sms_on_failed: true,
    });
    await insertRow(app, 'attempts', {
      workspace_id: line.id,
      id: newId(),
      message_id: messageId,
      line_id: line.lineId,
      kind: 'primary',
      channel: 'imessage',
      carrier: 'simulated',
      address: to,
      is_new: true,
      started_at: new Date(sentAt),
      answer_by: new Date(sentAt),
      outcome: 'accepted',
      finished_at: new Date(sentAt),
      carrier_message_id: carrierMessageId,
    });
    const receipt = { kind: 'receipt', status: 'failed', eventId: newId(), at: new Date() } as const;
    expect(await callBack(app, line.lineId, { ...receipt, carrierMessageId })).toBe(200);
    await eventually(async () => (await sentTo(app, to)).length === 1);
    expect(await sentTo(app, to)).toEqual([expect.objectContaining({ channel: 'sms' })]);
  });
});

describe('GET /api/messages', () => {
  it('filters and lists in pages, newest first, for its own workspace only', async () => {
    const own = await createWorkspace(app);
    await createLine(app, own.id);
    const ownCall = apiClient(app.url, own.key);
    const scheduledDate = new Date(Date.now() + 86_400_000).toISOString();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const { body } = await ownCall('POST', '/api/messages', {
        message: `m${n}`,
        recipientPhone: phone(),
        scheduledDate,
        correlationId: `c${n % 2}`,
      });
      ids.push(body._id);
    }
    const first = await ownCall('GET', '/api/messages?limit=3');
    const second = await ownCall('GET', `/api/messages?limit=3&cursor=${first.body.nextCursor}`);
    const paged = [...first.body.messages, ...second.body.messages].map(({ _id }) => _id);
    expect(paged.toSorted()).toEqual(ids.toSorted());
    expect(paged).toEqual(paged.toSorted().toReversed());
    expect(second.body.nextCursor).toBeNull();
    const filtered = await ownCall('GET', '/api/messages?correlationId=c1&status=scheduled');
    expect(filtered.body.messages).toHaveLength(2);
    expect((await call('GET', `/api/messages/${ids[0]}`)).status).toBe(404);
    expect((await ownCall('GET', '/api/messages?limit=0')).status).toBe(400);
  });
});
