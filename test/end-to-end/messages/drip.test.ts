import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb } from '#db/connection/transactions.ts';
import { connected } from '#db/connection/connected.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';

let app: TestApp;
let workspace: TestWorkspace;
let lines: string[];
let call: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  lines = [await createLine(app, workspace.id), await createLine(app, workspace.id)];
  call = apiClient(app.url, workspace.key);
});

const messagesOf = async (correlationId: string) =>
  (await call('GET', `/api/messages?correlationId=${encodeURIComponent(correlationId)}`)).body.messages;

/** Makes all scheduled messages due. */
async function makeDue(): Promise<void> {
  await systemDb(app.pools).query(sql.type(z.unknown())`
    update messages set scheduled_at = now() where workspace_id = ${workspace.id} and status = 'scheduled'`);
  for (const lineId of lines) await call('PATCH', `/api/lines/${lineId}`, { minGapSeconds: 0 });
}

describe('POST /api/drip', () => {
  it('acknowledges at once and schedules a message at the jittered time', async () => {
    const before = Date.now();
    const { status, body } = await call('POST', '/api/drip', {
      message: 'Drip',
      recipientPhone: phone(),
      scheduledDate: '2020-01-01T00:00:00Z',
    });
    expect(status).toBe(202);
    expect(body).toEqual({
      status: 'queued',
      correlationId: expect.any(String),
      scheduledDate: expect.any(String),
      jitterMs: expect.any(Number),
      warnings: [],
    });
    const ahead = Date.parse(body.scheduledDate) - before;
    expect(ahead).toBeGreaterThanOrEqual(30_000);
    expect(ahead).toBeLessThan(335_000);
    expect(Math.abs(ahead - 30_000 - body.jitterMs)).toBeLessThan(5000);

    const [message] = await eventually(async () => {
      const found = await messagesOf(body.correlationId);
      return found.length > 0 && found;
    });
    expect(message).toMatchObject({
      status: 'scheduled',
      source: 'crm-drip',
      scheduledDate: body.scheduledDate,
    });
  });

  it('warns of fields that no contact can have, custom ones included', async () => {
    const lead = { firstName: 'Ada', phones: [phone()], customFields: { city: 'London' } };
    expect((await call('POST', '/api/leads', { leads: [lead] })).status).toBeLessThan(300);
    const { status, body } = await call('POST', '/api/drip', {
      message: '{{ first_name }} of {{ customFields.city }} or {{ customFields.citty }}',
      recipientPhone: phone(),
    });
    expect(status).toBe(202);
    expect(body.warnings).toMatchObject([
      { code: 'unknown_field', name: 'first_name', suggestion: 'firstName' },
      { code: 'unknown_field', name: 'customFields.citty', suggestion: 'customFields.city' },
    ]);
  });

  it('sends every drip once, evenly over all lines', async () => {
    const own = await createWorkspace(app);
    const ownLines = [
      await createLine(app, own.id),
      await createLine(app, own.id),
      await createLine(app, own.id),
    ];
    const ownCall = apiClient(app.url, own.key);
    const recipients = Array.from({ length: 30 }, () => phone());
    const responses = await Promise.all(
      recipients.map((to) => ownCall('POST', '/api/drip', { message: `For ${to}`, recipientPhone: to })),
    );
    expect(responses.every(({ status }) => status === 202)).toBe(true);
    await eventually(
      async () => (await ownCall('GET', '/api/messages?limit=200')).body.messages.length === 30,
    );
    await systemDb(app.pools).query(sql.type(z.unknown())`
      update messages set scheduled_at = now() where workspace_id = ${own.id} and status = 'scheduled'`);
    for (const lineId of ownLines) await ownCall('PATCH', `/api/lines/${lineId}`, {});
    await eventually(
      async () =>
        (await ownCall('GET', '/api/messages?limit=200&status=delivered')).body.messages.length === 30,
    );
    const sent = await Promise.all(recipients.map((to) => sentTo(app, to)));
    expect(sent.map(({ length }) => length)).toEqual(recipients.map(() => 1));
    const perLine = ownLines.map(
      (lineId) => sent.flat().filter((message) => message.lineId === lineId).length,
    );
    expect(perLine).toEqual([10, 10, 10]);
  });

  it('echoes the correlation id of the header or the body', async () => {
    const header = await call(
      'POST',
      '/api/drip',
      { message: 'a', recipientPhone: phone() },
      { 'x-correlation-id': 'from-header' },
    );
    expect(header.body.correlationId).toBe('from-header');
    const field = await call('POST', '/api/drip', {
      message: 'a',
      recipientPhone: phone(),
      correlationId: 'from-body',
    });
    expect(field.body.correlationId).toBe('from-body');
    const long = await call(
      'POST',
      '/api/drip',
      { message: 'c', recipientPhone: phone() },
      { 'x-correlation-id': 'x'.repeat(201) },
    );
    expect(long).toMatchObject({ status: 400, body: { issues: [{ path: 'X-Correlation-Id' }] } });
  });

  it('collapses drips with the same recipient and body within an hour', async () => {
    const to = phone();
    const correlationId = `same-${to}`;
    const input = { message: 'Same', recipientPhone: to, correlationId };
    const responses = await Promise.all([
      call('POST', '/api/drip', input),
      call('POST', '/api/drip', input),
      call('POST', '/api/drip', input),
    ]);
    responses.push(
      await call('POST', '/api/drip', { ...input, recipientPhone: ` ${to.slice(2, 5)}-${to.slice(5)}` }),
    );
    expect(responses.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(new Set(responses.map(({ body }) => body.scheduledDate)).size).toBe(1);
    const other = await call('POST', '/api/drip', { ...input, message: 'Different' });
    expect(other.status).toBe(202);
    await eventually(async () => (await messagesOf(correlationId)).length === 2);
    expect(await messagesOf(correlationId)).toHaveLength(2);
  });

  it('returns 200 with the first acknowledgement for a repeated Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'drip-1' };
    const input = { message: 'Keyed', recipientPhone: phone() };
    const first = await call('POST', '/api/drip', input, headers);
    const again = await call('POST', '/api/drip', input, headers);
    expect([first.status, again.status]).toEqual([202, 200]);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await call('POST', '/api/drip', { ...input, message: 'x' }, headers)).body.code).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
    // A refused request does not use up its key.
    expect((await call('POST', '/api/drip', { message: '' }, { 'idempotency-key': 'drip-2' })).status).toBe(
      400,
    );
    expect((await call('POST', '/api/drip', input, { 'idempotency-key': 'drip-2' })).status).toBe(202);
  });

  it('moves the scheduled time into the send window', async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).getUTCDay();
    const input = {
      message: 'w',
      recipientPhone: phone(),
      timezone: 'UTC',
      sendWindowStart: '10:00',
      sendWindowEnd: '11:00',
      allowedDaysOfWeek: [tomorrow],
    };
    const { body } = await call('POST', '/api/drip', input);
    const at = new Date(body.scheduledDate);
    expect([at.getUTCDay(), at.getUTCHours(), at.getUTCMinutes()]).toEqual([tomorrow, 10, 0]);
  });

  it('uses the requested line, ignores the fields of campaigns and refuses invalid input', async () => {
    const [, second = ''] = lines;
    const { body } = await call('POST', '/api/drip', {
      message: 'n',
      recipientPhone: phone(),
      fromLineId: second,
      batchId: 'b',
      stepIndex: 3,
    });
    const [message] = await eventually(async () => {
      const found = await messagesOf(body.correlationId);
      return found.length > 0 && found;
    });
    expect(message).toMatchObject({ fromLineId: second, batchId: null, stepIndex: null });
    expect((await call('POST', '/api/drip', { message: 'n' })).status).toBe(400);
    expect(
      (await call('POST', '/api/drip', { message: 'n', recipientPhone: phone(), fromLineId: 'f'.repeat(24) }))
        .status,
    ).toBe(404);
    expect((await call('GET', '/api/drip')).status).toBe(405);
  });

  it('accepts drips while no worker runs, and sends each once afterwards', async () => {
    await app.stopWorker();
    const recipients = Array.from({ length: 20 }, () => phone());
    const responses = await Promise.all(
      recipients.map((to) => call('POST', '/api/drip', { message: `Wait ${to}`, recipientPhone: to })),
    );
    expect(responses.every(({ status }) => status === 202)).toBe(true);
    await app.startWorker();
    // Polls the database: the API allows 120 reads a minute, and a worker may take long to start.
    const correlationIds = responses.map(({ body }) => String(body.correlationId));
    await eventually(async () => {
      const stored = await systemDb(app.pools).anyFirst(sql.type(z.object({ correlationId: z.string() }))`
        select correlation_id from messages
        where workspace_id = ${workspace.id} and correlation_id = any(${sql.array(correlationIds, 'text')})`);
      return stored.length === 20 && new Set(stored).size === 20;
    });
    await makeDue();
    await eventually(
      async () =>
        (await Promise.all(recipients.map((to) => sentTo(app, to)))).every(({ length }) => length === 1),
      60_000,
    );
  });
});

describe('a workspace without an active line', () => {
  it('is refused once it has lost the last one, and accepted when it has one again', async () => {
    const own = await createWorkspace(app);
    const lineId = await createLine(app, own.id);
    const send = async () =>
      (await apiClient(app.url, own.key)('POST', '/api/drip', { message: 'Hi', recipientPhone: phone() }))
        .status;
    const activate = (isActive: boolean) =>
      systemDb(app.pools).query(sql.type(z.unknown())`
        update lines set is_active = ${isActive} where workspace_id = ${own.id} and id = ${lineId}`);
    expect(await send()).toBe(202);
    await activate(false);
    expect(await send()).toBe(400);
    await activate(true);
    expect(await send()).toBe(202);
  });
});

describe('a request whose commit fails', () => {
  it.each([
    ['/api/drip', 'drip_buffer'],
    ['/api/messages', 'messages'],
  ])('is not acknowledged (%s)', async (path, table) => {
    const other = await createWorkspace(app);
    await createLine(app, other.id);
    const change = (statements: string) => connected(app.ownerUrl, (client) => client.query(statements));
    // Everything succeeds until the commit.
    await change(`
      create function fail_commit() returns trigger language plpgsql as $$ begin raise 'no commit'; end $$;
      create constraint trigger fail_commit after insert on ${table} deferrable initially deferred for each row
        when (new.workspace_id = '${other.id}') execute function fail_commit()`);
    onTestFinished(() => change('drop function fail_commit cascade').then(() => {}));
    const request = { message: 'Never stored', recipientPhone: phone() };
    const { status } = await apiClient(app.url, other.key)('POST', path, request);
    expect(status).toBe(500);
  });
});
