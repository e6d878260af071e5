import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withSystem } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLead, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { firstMailTo } from '#test/support/mails.ts';

let app: TestApp;
let workspace: TestWorkspace;
let lineId: string;
let call: ApiClient;
let receiver: Endpoint;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id);
  call = apiClient(app.url, workspace.key);
  receiver = await startEndpoint();
  await call('POST', '/api/webhooks', {
    name: 'failures',
    url: receiver.url,
    events: ['message.failed', 'message.reply'],
  });
});
afterAll(async () => {
  await receiver.close();
});

const optedOut = async (address: string): Promise<boolean> =>
  (await call('GET', `/api/opt-outs/${encodeURIComponent(address)}`)).body.optedOut;

async function send(to: string, fields: object = {}) {
  const { status, body } = await call('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: to,
    ...fields,
  });
  expect(status).toBe(201);
  return body;
}

const failure = (messageId: string) =>
  eventually(async () =>
    receiver.received.find(
      ({ json: payload }) => payload.event === 'message.failed' && payload.messageId === messageId,
    ),
  );

describe('a STOP', () => {
  it('opts the address out, so that later messages fail without an HTTP error and are never sent', async () => {
    const to = phone('0007');
    await send(to, { message: 'first' });
    await eventually(() => optedOut(to));
    const refused = await send(to, { message: 'second' });
    expect(refused).toMatchObject({ status: 'failed', errorMessage: 'recipient_opted_out' });
    expect((await failure(refused._id)).json).toMatchObject({
      data: { error: 'recipient_opted_out' },
      message: { _id: refused._id },
    });
    expect((await sentTo(app, to)).map(({ text }) => text)).toEqual(['first']);
    // It is also reported as a reply.
    await eventually(async () =>
      receiver.received.find(
        ({ json: payload }) => payload.event === 'message.reply' && payload.message === 'STOP',
      ),
    );
  });

  it.each([
    'STOP.',
    'Opt-out!',
    '“Stop” 🛑',
    'Ｓｔｏｐ',
    'Stop\n\nSent from my iPhone',
    'Unsubscribe\n\nOn Tue, Nov 3, 2026 at 9:00 AM Acme <hi@acme.test> wrote:\n> Hello',
  ])('is recognized with punctuation, signatures and quotes: %j', async (text) => {
    const from = phone();
    await callBack(app, lineId, replyEvent(from, text));
    await eventually(() => optedOut(from));
    expect(await send(from)).toMatchObject({ status: 'failed', errorMessage: 'recipient_opted_out' });
    await callBack(app, lineId, replyEvent(from, 'Yes!\n\nSent from my iPhone'));
    await eventually(async () => !(await optedOut(from)));
  });

  it('is not recognized within a sentence', async () => {
    const from = phone();
    for (const text of ['Please do not stop', 'Can we cancel the meeting?', 'Hello\n> Reply STOP to opt out'])
      await callBack(app, lineId, replyEvent(from, text));
    await eventually(async () => {
      const { body } = await call('GET', `/api/conversations/${from}`);
      return body.messages?.length === 3;
    });
    expect(await optedOut(from)).toBe(false);
  });

  it('fails messages that are already scheduled', async () => {
    const to = phone();
    const waiting = await send(to, { scheduledDate: new Date(Date.now() + 3_600_000).toISOString() });
    await callBack(app, lineId, replyEvent(to, ' stop '));
    const { json: payload } = await failure(waiting._id);
    expect(payload.message).toMatchObject({ status: 'failed', errorMessage: 'recipient_opted_out' });
  });

  it('fails drips as well', async () => {
    const to = phone();
    await callBack(app, lineId, replyEvent(to, 'UNSUBSCRIBE'));
    const { status, body } = await call('POST', '/api/drip', { message: 'Drip', recipientPhone: to });
    expect(status).toBe(202);
    const { json: payload } = await eventually(async () =>
      receiver.received.find((delivery) => delivery.json.message?.correlationId === body.correlationId),
    );
    expect(payload).toMatchObject({
      event: 'message.failed',
      message: { errorMessage: 'recipient_opted_out' },
    });
  });

  it('applies to its own workspace only, until START', async () => {
    const to = phone();
    const other = await createWorkspace(app);
    await callBack(app, lineId, replyEvent(to, 'Quit'));
    expect(await optedOut(to)).toBe(true);
    expect(
      (await apiClient(app.url, other.key)('GET', `/api/opt-outs/${encodeURIComponent(to)}`)).body.optedOut,
    ).toBe(false);
    await callBack(app, lineId, replyEvent(to, 'please start'));
    expect(await optedOut(to)).toBe(true);
    await callBack(app, lineId, replyEvent(to, 'start'));
    expect(await optedOut(to)).toBe(false);
    expect((await send(to)).status).toBe('pending');
  });

  it('and START lead to the same state in any order of arrival', async () => {
    const at = (minute: number): { at: Date } => ({ at: new Date(Date.UTC(2026, 0, 1, 12, minute)) });
    const [left, stayed] = [phone(), phone()];
    await callBack(app, lineId, replyEvent(left, 'STOP', at(2)), replyEvent(left, 'START', at(1)));
    await callBack(app, lineId, replyEvent(stayed, 'START', at(2)), replyEvent(stayed, 'STOP', at(1)));
    expect(await optedOut(left)).toBe(true);
    expect(await optedOut(stayed)).toBe(false);
  });

  it('in a group and START lead to the same state in any order of arrival', async () => {
    const at = (minute: number): { at: Date } => ({ at: new Date(Date.UTC(2026, 0, 1, 12, minute)) });
    const [left, edited, stayed] = [phone(), phone(), phone()];
    const group = { id: `iMessage;+;chat${newId()}`, participants: [left, edited, stayed] };
    await callBack(app, lineId, replyEvent(left, 'STOP', { ...at(2), group }));
    await callBack(app, lineId, replyEvent(left, 'START', at(1)));
    const hello = replyEvent(edited, 'Hello', { ...at(0), group });
    await callBack(app, lineId, hello);
    const { carrierMessageId } = hello;
    await callBack(app, lineId, {
      kind: 'edited',
      eventId: newId(),
      carrierMessageId,
      text: 'STOP',
      ...at(2),
    });
    await callBack(app, lineId, replyEvent(edited, 'START', at(1)));
    await callBack(app, lineId, replyEvent(stayed, 'START', at(2)));
    await callBack(app, lineId, replyEvent(stayed, 'STOP', { ...at(1), group }));
    expect(await optedOut(left)).toBe(true);
    expect(await optedOut(edited)).toBe(true);
    expect(await optedOut(stayed)).toBe(false);
    // What is written after it counts.
    await callBack(app, lineId, replyEvent(left, 'START', at(3)));
    expect(await optedOut(left)).toBe(false);
  });

  it('is not recognized in a longer text, but in what looks automatic', async () => {
    const to = phone();
    await callBack(
      app,
      lineId,
      replyEvent(to, 'Stop by tomorrow'),
      replyEvent(to, 'Stop by tomorrow', { autoReply: true }),
    );
    expect(await optedOut(to)).toBe(false);
    await callBack(app, lineId, replyEvent(to, 'STOP', { autoReply: true }));
    expect(await optedOut(to)).toBe(true);
  });
});

/** What the audit log says of opt-outs and opt-ins, oldest first. */
const audited = (workspaceId: string) =>
  withSystem(app.pools, (db) =>
    db.any(sql.type(Audited)`
      select action, channel, coalesce(actor_name, actor_id) actor, target_type || ' ' || target_id target, changes
      from audit_log where workspace_id = ${workspaceId} and action like 'contact.opted%' order by id`),
  );
const Audited = z.object({
  action: z.string(),
  channel: z.string(),
  actor: z.string(),
  target: z.string(),
  changes: z.object({ source: z.string(), messageId: z.string().optional() }),
});

describe('the audit log', () => {
  it('has each opt-out and opt-in of a contact once, without an address', async () => {
    const own = await createWorkspace(app);
    const line = await createLine(app, own.id);
    const ask = apiClient(app.url, own.key);
    const from = phone();
    const leadId = await createLead(app, own.id, { phones: [from] });
    for (const text of ['STOP', 'stop', 'START', 'START']) await callBack(app, line, replyEvent(from, text));
    const stranger = phone();
    await callBack(app, line, replyEvent(stranger, 'STOP'));
    await ask('DELETE', `/api/opt-outs/${encodeURIComponent(stranger)}`);
    await ask('POST', '/api/opt-outs', { address: stranger });

    const entries = await audited(own.id);
    const shown = entries.map(({ action, channel, changes }) => `${channel} ${action} ${changes.source}`);
    expect(shown).toEqual([
      'system contact.opted_out reply',
      'system contact.opted_in reply',
      'system contact.opted_out reply',
      'api contact.opted_in api',
      'api contact.opted_out api',
    ]);
    const [stop, start, strange, ...byKey] = entries;
    expect([stop?.actor, stop?.target, start?.target]).toEqual([
      'The contact',
      `contact ${leadId}`,
      `contact ${leadId}`,
    ]);
    expect(strange?.target).toBe(`contact ${strange?.changes.messageId}`);
    // The same hash, by which the two are seen to be about one contact.
    expect(new Set(byKey.map(({ target }) => target)).size).toBe(1);
    for (const address of [from, stranger]) expect(JSON.stringify(entries)).not.toContain(address.slice(2));
  });
});

describe('opt-outs', () => {
  it('are added, listed and removed over the API', async () => {
    const own = await createWorkspace(app);
    const ask = apiClient(app.url, own.key);
    const added = await ask('POST', '/api/opt-outs', { address: '(415) 555-0134' });
    expect(added).toMatchObject({
      status: 201,
      body: { success: true, optOut: { address: '+14155550134', source: 'api' } },
    });
    expect((await ask('POST', '/api/opt-outs', { address: '+14155550134' })).body).toEqual(added.body);
    await ask('POST', '/api/opt-outs', { address: 'Ada@Example.com' });

    const first = await ask('GET', '/api/opt-outs?limit=1');
    expect(first.body.optOuts.map(({ address }: { address: string }) => address)).toEqual([
      'ada@example.com',
    ]);
    const second = await ask('GET', `/api/opt-outs?limit=1&cursor=${first.body.nextCursor}`);
    expect(second.body).toEqual({ success: true, optOuts: [added.body.optOut], nextCursor: null });

    expect(await ask('DELETE', '/api/opt-outs/ada%40example.com')).toMatchObject({
      status: 200,
      body: { success: true },
    });
    expect(await ask('DELETE', '/api/opt-outs?address=%2B14155550134')).toMatchObject({ status: 200 });
    await ask('POST', '/api/opt-outs', { address: '+14155550134' });
    expect(await ask('DELETE', '/api/opt-outs', { address: '+1 415 555 0134' })).toMatchObject({
      status: 200,
    });
    expect(await ask('DELETE', '/api/opt-outs?address=%2B14155550134')).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
    expect((await ask('GET', '/api/opt-outs')).body.optOuts).toEqual([]);
  });

  it.each([
    ['POST', '/api/opt-outs', { address: 'nobody' }],
    ['DELETE', '/api/opt-outs', undefined],
    ['GET', '/api/opt-outs?cursor=nonsense', undefined],
  ])('refuse an invalid request: %s %s', async (method, path, body) => {
    expect(await call(method, path, body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } });
  });
});

describe('the history of opt-outs', () => {
  it('has each change with its source and what the contact wrote, and is exported', async () => {
    const own = await createWorkspace(app);
    const line = await createLine(app, own.id);
    const ask = apiClient(app.url, own.key);
    const [ada, bob] = [phone(), phone()];
    // A spreadsheet takes the number for nothing else than a number.
    for (const text of ['STOP.', 'START']) await callBack(app, line, replyEvent(ada, text));
    await ask('POST', '/api/opt-outs', { address: bob });
    await callBack(app, line, replyEvent(ada, '=please take me off your list, and “stop”'));
    const suspicion = await eventually(
      async () => (await ask('GET', '/api/opt-outs/suspected')).body.suspicions[0],
    );
    await ask('POST', `/api/opt-outs/suspected/${suspicion._id}`, { action: 'confirm' });
    // No opt-out.
    await ask('POST', '/api/consents', { address: bob, status: 'revoked' });

    const { body } = await ask('GET', '/api/opt-outs/history');
    const reply = { source: 'reply', address: ada, replyId: expect.stringMatching(/^[0-9a-f]{24}$/) };
    const [latest, ...others] = body.changes;
    expect(latest).toMatchObject({
      ...reply,
      change: 'opted_out',
      message: '=please take me off your list, and “stop”',
    });
    expect(others).toHaveLength(3);
    expect(others).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          change: 'opted_out',
          source: 'api',
          address: bob,
          message: null,
          replyId: null,
        }),
        expect.objectContaining({ ...reply, change: 'opted_in', message: 'START' }),
        expect.objectContaining({ ...reply, change: 'opted_out', message: 'STOP.' }),
      ]),
    );
    const only = async (query: string) =>
      (await ask('GET', `/api/opt-outs/history?${query}`)).body.changes.length;
    expect(await only('change=opted_in')).toBe(1);
    expect(await only('dateTo=2020-01-01')).toBe(0);
    const pages = await ask('GET', '/api/opt-outs/history?limit=3');
    expect(await only(`limit=3&cursor=${pages.body.nextCursor}`)).toBe(1);

    const exported = await fetch(`${app.url}/api/opt-outs/history/export?change=opted_out`, {
      headers: { authorization: `Bearer ${own.key}` },
    });
    expect(exported.headers.get('content-disposition')).toContain('opt-outs.csv');
    const lines = (await exported.text()).trim().split('\r\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe('at,address,change,source,message');
    expect(lines[1]).toBe(`${latest.at},${ada},opted_out,reply,"'=please take me off your list, and “stop”"`);
  });

  it('counts them per week, with their share of the messages sent', async () => {
    const own = await createWorkspace(app);
    await createLine(app, own.id);
    const ask = apiClient(app.url, own.key);
    const to = phone();
    for (const recipientPhone of [to, phone()])
      await ask('POST', '/api/messages', { message: 'Hi', recipientPhone });
    const weeksOf = async () => (await ask('GET', '/api/opt-outs/weeks?weeks=3')).body.weeks;
    // An opt-out would stop a message that is still waiting.
    await eventually(async () => (await weeksOf()).at(-1).sent === 2);
    await ask('POST', '/api/opt-outs', { address: phone() });
    await ask('POST', '/api/opt-outs', { address: to });
    await ask('DELETE', `/api/opt-outs/${encodeURIComponent(to)}`);
    const weeks = await weeksOf();
    expect(weeks).toHaveLength(3);
    expect(weeks.at(-1)).toMatchObject({ optedOut: 2, optedIn: 1, sent: 2, optedOutShare: 1 });
    expect(weeks[0]).toMatchObject({ optedOut: 0, optedIn: 0, sent: 0, optedOutShare: null });
    expect(Date.parse(weeks[0].end)).toBe(Date.parse(weeks[1].start));
  });
});

describe('the unsubscribe link', () => {
  async function unsubscribeUrl(to: string): Promise<string> {
    const mail = await firstMailTo(app, to);
    expect(mail.headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click');
    const [, url = ''] = /<(http[^>]+)>/.exec(mail.headers['list-unsubscribe'] ?? '') ?? [];
    return url;
  }

  it('opts out on POST and only asks on GET', async () => {
    const smtp = new URL(app.smtpUrl);
    const config = JSON.stringify({ host: smtp.hostname, port: Number(smtp.port), secure: false });
    const mailLine = await createLine(app, workspace.id, 'email', {
      carrier: 'smtp',
      carrier_config: config,
    });
    const to = 'reader@example.com';
    const { body } = await call('POST', '/api/messages', {
      messageType: 'email',
      message: 'News',
      recipientEmail: to,
      fromLineId: mailLine,
    });
    expect(body.status).toBe('pending');
    const url = await unsubscribeUrl(to);
    expect(url).not.toContain(to);

    const page = await fetch(url);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('<form method="post">');
    expect(await optedOut(to)).toBe(false);

    const form = {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    };
    expect((await fetch(url, form)).status).toBe(200);
    expect(await optedOut(to)).toBe(true);
    expect(await call('GET', '/api/opt-outs')).toMatchObject({
      body: {
        optOuts: expect.arrayContaining([expect.objectContaining({ address: to, source: 'unsubscribe' })]),
      },
    });
    expect((await audited(workspace.id)).at(-1)).toMatchObject({
      action: 'contact.opted_out',
      changes: { source: 'unsubscribe', messageId: body._id },
    });
    const changed = url.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')).replace('org_', 'org_0');
    expect((await fetch(changed, form)).status).toBe(404);
  });
});
