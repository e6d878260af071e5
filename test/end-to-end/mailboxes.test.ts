import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/ids.ts';
import { eventually, startTestApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { startMailbox, type TestMailbox } from '#test/support/mailbox.ts';

let app: TestApp;
let api: ApiClient;
let mailbox: TestMailbox;
let lineId: string;

beforeAll(async () => {
  mailbox = await startMailbox();
  app = await startTestApp({ environment: { INBOX_POLL_SECONDS: '1' } });
  const workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lineId = await createLine(app, workspace.id, 'email');
  mailbox.deliver(from('before@example.com'), 'From the time before the line was connected');
  const config = { url: app.smtpUrl, imapUrl: mailbox.url };
  const { status } = await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'smtp', config });
  if (status !== 200) throw new Error(`not connected: ${status}`);
});
afterAll(async () => {
  await app.stop();
  await mailbox.stop();
});

const address = (): string => `contact-${newId()}@example.com`;
const from = (sender: string, headers: Record<string, string> = {}): Record<string, string> => ({
  From: `Somebody <${sender}>`,
  To: 'dana@line.example',
  Subject: 'Re: Hello',
  Date: new Date().toUTCString(),
  'Message-ID': `<${newId()}@their.example>`,
  ...headers,
});

async function send(recipientEmail: string): Promise<{ id: string; messageId: string }> {
  const { body } = await api('POST', '/api/messages', {
    message: 'Hello',
    messageType: 'email',
    recipientEmail,
  });
  const to = encodeURIComponent(recipientEmail);
  const { headers } = await eventually(
    async () => (await apiClient(app.url, '')('GET', `/simulated/mail?to=${to}`)).body.messages[0],
  );
  await eventually(async () => (await message(body._id)).status === 'sent');
  return { id: body._id, messageId: headers['message-id'] };
}

const message = async (id: string) => (await api('GET', `/api/messages/${id}`)).body;
const inboundOf = async (of: string) => {
  const { body } = await api('GET', `/api/conversations/${encodeURIComponent(of)}`);
  return (body.messages ?? []).filter(({ direction }: { direction: string }) => direction === 'in');
};
const arrived = (of: string) =>
  eventually(async () => {
    const found = await inboundOf(of);
    return found.length > 0 && found;
  });

it('a reply in HTML alone is read as text, without what it quotes, and matched to its message', async () => {
  const to = address();
  const { id, messageId } = await send(to);
  const html = `<p>Klingt gut &amp; sch&ouml;n,<br>bis Montag – Ada</p><div class="gmail_quote">On Mon, Mar 3, 2025 at 9:00 Dana &lt;dana@line.example&gt; wrote:<blockquote>Hello</blockquote></div>`;
  const type = { 'Content-Type': 'text/html; charset=utf-8' };
  mailbox.deliver(from(to, { 'In-Reply-To': messageId, ...type }), html);
  expect(await arrived(to)).toEqual([
    expect.objectContaining({
      message: 'Klingt gut & schön,\nbis Montag – Ada',
      originalMessageId: id,
      autoReply: false,
    }),
  ]);
  expect(await inboundOf('before@example.com')).toEqual([]);
});

it('an automatic answer is kept and is no reply', async () => {
  const to = address();
  mailbox.deliver(from(to, { 'Auto-Submitted': 'auto-replied' }), 'I am away');
  expect(await arrived(to)).toEqual([expect.objectContaining({ message: 'I am away', autoReply: true })]);
});

it('a STOP above a quoted message opts out', async () => {
  const to = address();
  mailbox.deliver(from(to), 'STOP\n\n> Hello\n> Dana\n');
  await eventually(async () => JSON.stringify((await api('GET', '/api/opt-outs')).body).includes(to));
});

it('a notification that it could not be delivered fails the message', async () => {
  const to = address();
  const { id, messageId } = await send(to);
  const report = [
    '--b',
    'Content-Type: text/plain\n\nSorry.',
    '--b',
    `Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example.com\n\nFinal-Recipient: rfc822; ${to}\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 no such user\n`,
    '--b',
    `Content-Type: text/rfc822-headers\n\nSubject: Hello\nMessage-ID: ${messageId}\nTo: ${to}\n`,
    '--b--',
  ].join('\n');
  const type = 'multipart/report; report-type=delivery-status; boundary="b"';
  mailbox.deliver(
    from('mailer-daemon@mx.example.com', { 'MIME-Version': '1.0', 'Content-Type': type }),
    report,
  );
  await eventually(async () => (await message(id)).status === 'failed');
  expect((await message(id)).errorMessage).toBe('bounced: 550 5.1.1 no such user');
});

it('what came in while nobody read is taken in once each, also when the server numbers everything anew', async () => {
  const [first, ...others] = Array.from({ length: 25 }, address);
  await app.stopWorker();
  for (const one of [first, ...others]) mailbox.deliver(from(one ?? ''), `From ${one}`);
  await app.startWorker();
  await arrived(others.at(-1) ?? '');
  mailbox.renumber();
  const [late, later] = [address(), address()];
  mailbox.deliver(from(late), 'After the renumbering');
  await arrived(late);
  mailbox.deliver(from(later), 'And one more');
  await arrived(later);
  const { conversations } = (await api('GET', '/api/conversations?limit=200')).body;
  const known = JSON.stringify(conversations);
  expect([first, ...others].filter((one) => !known.includes(one ?? ''))).toEqual([]);
  for (const one of [first, others[20], others[23], late]) expect(await inboundOf(one ?? '')).toHaveLength(1);
}, 90_000);

it('is not connected to a mailbox that cannot be read', async () => {
  const connect = (imapUrl: string) =>
    api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'smtp', config: { url: app.smtpUrl, imapUrl } });
  const wrong = await connect(mailbox.url.replace('hunter2', 'wrong'));
  expect([wrong.status, wrong.body.code]).toEqual([502, 'CARRIER_NOT_USABLE']);
  const inside = await connect('imap://dana:x@10.0.0.1/INBOX');
  expect([inside.status, inside.body.code]).toEqual([400, 'URL_NOT_ALLOWED']);
});

it('a line that is connected without a mailbox is read no more', async () => {
  const handle = app.temporal.workflow.getHandle(`mailbox-reader:${lineId}`);
  expect((await handle.describe()).status.name).toBe('RUNNING');
  const config = { url: app.smtpUrl };
  expect((await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'smtp', config })).status).toBe(200);
  await eventually(async () => (await handle.describe()).status.name === 'COMPLETED');
});
