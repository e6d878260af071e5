import { beforeAll, expect, test } from 'vitest';
import { SmtpConfig } from '#providers/carriers/smtp/config.ts';
import { age } from '#test/support/age.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import { createLine, createLineAt, createWorkspace } from '#test/support/factories.ts';
import { mailsTo } from '#test/support/mails.ts';

/*
 * Carriers and mail servers as they are: they accept what fails later, report it in several parts and more than once, and give texts
 * back in another form.
 */

const SECRET = 'a secret for callbacks';

let app: TestApp;
let api: ApiClient;
let emailLineId: string;

beforeAll(async () => {
  app = await sharedApp();
  const workspace = await createWorkspace(app);
  api = workspace.api;
  await createLine(app, workspace.id);
  emailLineId = await createLineAt(app, workspace.id, 'email', {
    name: 'smtp',
    schema: SmtpConfig,
    settings: { url: app.smtpUrl, inboundSecret: SECRET },
  });
});

async function send(fields: object): Promise<string> {
  const { status, body } = await api('POST', '/api/messages', { message: 'Hello', ...fields });
  expect(status, JSON.stringify(body)).toBe(201);
  return body._id;
}
const message = async (id: string) => (await api('GET', `/api/messages/${id}`)).body;
const ended = (id: string, ...statuses: string[]) =>
  eventually(async () => {
    const found = await message(id);
    return statuses.includes(found.status) && found;
  });
const emailTo = (recipientEmail: string) => send({ messageType: 'email', recipientEmail });

test('a message that fails after it was accepted fails once, with the reason that comes later, and stays failed', async () => {
  const to = phone('0011');
  const id = await send({ recipientPhone: to });
  await eventually(async () => (await message(id)).errorMessage === 'The number is not in service');
  const events = await eventually(async () => {
    const { body } = await api('GET', `/api/messages/${id}/timeline`);
    const found = JSON.stringify(body);
    return found.includes('delivered') && body;
  });
  expect((await message(id)).status).toBe('failed');
  expect(await sentTo(app, to)).toHaveLength(1);
  expect(events).toBeTruthy();
});

test('a reaction that quotes a text in another form is a reaction to it, however often it is reported', async () => {
  const to = phone('0012');
  const text = '  It’s “ready” – see you at the café…\nReply STOP to unsubscribe.  ';
  const id = await send({ recipientPhone: to, message: text });
  const reactions = () => eventually(async () => (await message(id)).reactions.length > 0);
  await reactions();
  const { messages } = (await api('GET', `/api/conversations/${encodeURIComponent(to)}`)).body;
  expect(messages.map(({ direction }: { direction: string }) => direction)).toEqual(['out']);
  expect((await message(id)).reactions).toMatchObject([{ reaction: 'like' }]);
  expect((await api('GET', `/api/opt-outs/${encodeURIComponent(to)}`)).body.optedOut).toBe(false);
});

test('an email that a server refuses at first is sent once, and one that it refuses at the end has failed', async () => {
  const [delayed, refused] = ['greylisted+1@late.example', 'refused-late+1@late.example'];
  const [first, second] = [await emailTo(delayed), await emailTo(refused)];
  expect((await ended(second, 'failed', 'sent')).errorMessage).toContain('The content was refused');
  expect((await ended(first, 'sent', 'failed')).status).toBe('sent');
  expect([await mailsTo(app, delayed), await mailsTo(app, refused)]).toMatchObject([[{}], []]);
});

/** Posts a bounce of an email to its line. */
async function bounceTo(lineId: string, to: string, status: string, words: string): Promise<void> {
  const mail = (await mailsTo(app, to)).at(-1);
  const part = (ContentType: string, text: string) => ({
    Name: 'part',
    ContentType,
    Content: Buffer.from(text).toString('base64'),
  });
  const bounce = {
    MessageID: `bounce-${mail?.headers['message-id']}`,
    From: 'MAILER-DAEMON@mx.late.example',
    Subject: 'Undelivered Mail Returned to Sender',
    TextBody: 'It could not be delivered.',
    Headers: [{ Name: 'Content-Type', Value: 'multipart/report; report-type=delivery-status' }],
    Attachments: [
      part(
        'message/delivery-status',
        `Reporting-MTA: dns; mx\n\nFinal-Recipient: rfc822;${to}\nAction: failed\nStatus: ${status}\nDiagnostic-Code: smtp; 550 ${words}\n`,
      ),
      part('text/plain', `Message-ID: ${mail?.headers['message-id']}\n\nHello`),
    ],
  };
  const { status: answer } = await fetch(
    `${app.url}/callbacks/carriers/smtp/${lineId}?secret=${encodeURIComponent(SECRET)}`,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(bounce) },
  );
  expect(answer).toBe(200);
}

test('a bounce that comes twice fails its email once, and opts out the address that does not exist', async () => {
  const to = 'gone@late.example';
  const id = await emailTo(to);
  await ended(id, 'sent');
  for (let n = 0; n < 2; n += 1) await bounceTo(emailLineId, to, '5.1.0', '5.1.0 User unknown');
  expect((await ended(id, 'failed')).errorMessage).toContain('User unknown');
  expect((await api('GET', `/api/opt-outs/${to}`)).body.optedOut).toBe(true);
  expect((await api('GET', `/api/conversations/${to}`)).body.messages).toHaveLength(1);
});

test('a bounce that blames the sender pauses the line and fails no message, until others arrive and the same one does not', async () => {
  const workspace = await createWorkspace(app);
  const lineId = await createLineAt(app, workspace.id, 'email', {
    name: 'smtp',
    schema: SmtpConfig,
    settings: { url: app.smtpUrl, inboundSecret: SECRET },
  });
  const read = async (id: string) => (await workspace.api('GET', `/api/messages/${id}`)).body;
  const post = async (recipientEmail: string): Promise<string> => {
    const fields = { message: 'Hello', messageType: 'email', recipientEmail };
    return (await workspace.api('POST', '/api/messages', fields)).body._id;
  };
  const sent = (id: string) => eventually(async () => (await read(id)).status === 'sent');
  // A change of the settings ends the pause of the line.
  const tryAgain = async (gap: number) => {
    const changed = await workspace.api('PATCH', `/api/lines/${lineId}`, { contactGapSeconds: gap });
    expect(changed.status).toBe(200);
  };
  const [to, other] = ['blocked-by@late.example', 'open-to@late.example'];
  const id = await post(to);
  await sent(id);
  await bounceTo(lineId, to, '5.7.1', '5.7.1 Sender blocked');
  expect(await read(id)).toMatchObject({ status: 'scheduled', holdReason: 'carrier_pause' });
  expect((await workspace.api('GET', `/api/opt-outs/${to}`)).body.optedOut).toBe(false);
  const waiting = await eventually(async () => {
    const { waitingFor } = (await workspace.api('GET', `/api/messages/${id}/timeline`)).body;
    return JSON.stringify(waitingFor).includes('Sender blocked') && waitingFor;
  });
  expect(waiting).toMatchObject({ reason: 'carrier_pause' });

  await tryAgain(6);
  await sent(id);
  expect(await mailsTo(app, to)).toHaveLength(2);
  const otherId = await post(other);
  await tryAgain(7);
  await sent(otherId);
  const settled = `line_id = '${lineId}' and address = '${other}'`;
  await age(app.pools, 'attempts', ['finished_at'], '3 minutes', settled);
  await bounceTo(lineId, to, '5.7.1', '5.7.1 Sender blocked');
  expect(await read(id)).toMatchObject({
    status: 'failed',
    errorMessage: 'bounced: 550 5.7.1 Sender blocked',
  });
  expect((await workspace.api('GET', `/api/opt-outs/${to}`)).body.optedOut).toBe(false);
});

test('a message that its carrier returns is not sent again if its campaign has ended for its lead, and waits while that is paused', async () => {
  const workspace = await createWorkspace(app);
  const lineId = await createLineAt(app, workspace.id, 'email', {
    name: 'smtp',
    schema: SmtpConfig,
    settings: { url: app.smtpUrl, inboundSecret: SECRET },
  });
  const world = campaignHelpers(() => ({ app, workspace, api: workspace.api }));
  const enter = async (name: string) => {
    const steps = [
      { message: 'One', messageType: 'email' },
      { message: 'Two', messageType: 'email', delay: { days: 2 } },
    ];
    const to = `${name}@late.example`;
    const id = await world.newCampaign({ start: true, steps });
    const { body } = await workspace.api('POST', `/api/campaigns/${id}/leads`, { lead: { email: to } });
    await world.step(id, body.leadId, 0, 'sent');
    const path = `/api/campaigns/${id}`;
    return { id, to, path, lead: `${path}/leads/${body.leadId}`, leadId: body.leadId as string };
  };
  const [stopped, archived, paused] = [
    await enter('stopped'),
    await enter('archived'),
    await enter('paused'),
  ];
  const { api } = workspace;
  expect((await api('POST', `${stopped.lead}/stop`)).status).toBe(200);
  expect((await api('POST', `${archived.path}/archive`)).status).toBe(200);
  await world.step(archived.id, archived.leadId, 1, 'canceled');
  const pausing = `/api/leads/${paused.leadId}/campaigns/${paused.id}`;
  expect((await api('PATCH', pausing, { resumesAt: null })).status).toBe(200);
  for (const { to } of [stopped, archived, paused])
    await bounceTo(lineId, to, '5.7.1', '5.7.1 Sender blocked');
  const first = async ({ id, leadId }: typeof stopped) => (await world.stepsOf(id, leadId))[0];
  expect(await first(stopped)).toMatchObject({ status: 'canceled', holdReason: 'removed' });
  expect(await first(archived)).toMatchObject({ status: 'canceled' });
  expect(await first(paused)).toMatchObject({ status: 'scheduled', holdReason: 'lead_paused' });
});
