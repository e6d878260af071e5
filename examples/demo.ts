import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import pg from 'pg';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { newId } from '#domain/base/ids.ts';
import type { Demo } from '#standalone/demo-data.ts';

/**
 * Sends drips to the 200 recipients of a file and shows their statuses until all are final. Starts the product if it is not
 * running. Emails go to the demo's own SMTP server.
 */
const DEADLINE_MS = 8 * 60_000;
const RELAXED = {
  dailyTotalMessagesLimit: 10_000,
  dailyNewConversationsLimit: 10_000,
  hourlyNewConversationsLimit: 10_000,
  minGapSeconds: 1,
  contactGapSeconds: 0,
};

interface Recipient {
  name: string;
  phone: string;
  email: string;
}

const dataDir = process.env['DATA_DIR'] ?? '.data';
const file = new URL('./recipients.csv', import.meta.url);
const recipients = parse<Recipient>(await readFile(file), { columns: true, skip_empty_lines: true });

/** The counts that were printed last. */
let shown = '';

const product = await startProduct();
const demo = JSON.parse(await readFile(path.join(dataDir, 'demo.json'), 'utf8')) as Demo;
const mail = await startMailServer();
const hook = await startWebhook();
const smtpLineId = await addSmtpLine(mail.port);
const webhook = (await api('POST', '/api/webhooks', {
  url: hook.url,
  name: 'Demo',
  events: ['message.sent', 'message.failed', 'message.fallback'],
})) as { webhook: { _id: string; secret: string } };
hook.secret = webhook.webhook.secret;

try {
  for (const lineId of [...demo.lineIds, smtpLineId]) await api('PATCH', `/api/lines/${lineId}`, RELAXED);
  process.exitCode = (await run()) ? 0 : 1;
} finally {
  await api('PATCH', `/api/lines/${smtpLineId}`, { isActive: false });
  await api('DELETE', `/api/webhooks/${webhook.webhook._id}`);
  await hook.stop();
  await mail.stop();
  await product.stop();
}

async function run(): Promise<boolean> {
  const started = Date.now();
  // A different text in each run, because the same text to the same person within an hour is one message.
  const batch = new Date().toISOString();
  const accepted = new Map<string, Recipient>();
  for (const recipient of recipients) {
    const address =
      recipient.email === ''
        ? { recipientPhone: recipient.phone }
        : { recipientEmail: recipient.email, messageType: 'email', fromLineId: smtpLineId };
    const input = {
      ...address,
      recipientName: recipient.name,
      message: `Hello ${recipient.name}, this is the demo of ${batch}.`,
    };
    const { correlationId } = (await api('POST', '/api/drip', input)) as { correlationId: string };
    accepted.set(correlationId, recipient);
  }

  const counts = {
    accepted: accepted.size,
    scheduled: 0,
    sent: 0,
    delivered: 0,
    fallback: 0,
    failed: 0,
    webhooks: 0,
  };
  let settled = false;
  while (!settled && Date.now() - started < DEADLINE_MS) {
    const messages = (await ownMessages(started)).filter(({ correlationId }) =>
      accepted.has(correlationId ?? ''),
    );
    const count = (...statuses: string[]): number =>
      messages.filter(({ status }) => statuses.includes(status)).length;
    counts.scheduled = count('scheduled', 'pending');
    counts.sent = count('sent');
    counts.delivered = count('delivered');
    counts.fallback = count('fallback');
    counts.failed = count('failed');
    counts.webhooks = hook.verified.size;
    // Mail servers send no receipts, so `sent` is the last status of an email.
    const open = messages.filter(
      ({ status, messageType }) =>
        ['scheduled', 'pending'].includes(status) || (status === 'sent' && messageType !== 'email'),
    );
    settled = messages.length === accepted.size && open.length === 0 && counts.webhooks === accepted.size;
    show(counts, Math.round((Date.now() - started) / 1000));
    await pause(1000);
  }
  process.stdout.write('\n');
  return report(settled, batch, accepted.size);
}

/** Compares the messages in the logs of the carrier and the mail server with the expected ones. */
async function report(settled: boolean, batch: string, expected: number): Promise<boolean> {
  let lost = 0;
  let duplicated = 0;
  for (const { phone, email } of recipients) {
    const arrived = email === '' ? await acceptedByCarrier(phone, batch) : mail.count(email, batch);
    // …0001 has no iMessage and …0002 is refused, so nothing arrives there.
    const due = /000[12]$/.test(phone) ? 0 : 1;
    if (arrived < due) lost += 1;
    if (arrived > due) duplicated += 1;
  }
  const ok = settled && lost === 0 && duplicated === 0 && hook.refused === 0;
  process.stdout.write(
    `${settled ? 'All' : 'NOT all'} of ${expected} settled. In the logs of the carrier and the SMTP server: ${lost} lost, ${duplicated} duplicated. ` +
      `Webhooks: ${hook.verified.size} verified, ${hook.refused} invalid.\n`,
  );
  return ok;
}

async function acceptedByCarrier(phone: string, batch: string): Promise<number> {
  const { messages } = (await api('GET', `/simulated/carrier/sent?to=${encodeURIComponent(phone)}`)) as {
    messages: { text: string }[];
  };
  return messages.filter(({ text }) => text.includes(batch)).length;
}

interface DemoMessage {
  _id: string;
  status: string;
  messageType: string;
  correlationId: string | null;
  createdAt: string;
}

async function ownMessages(since: number): Promise<DemoMessage[]> {
  const messages: DemoMessage[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = (await api('GET', `/api/messages?limit=200${query}`)) as {
      messages: DemoMessage[];
      nextCursor: string | null;
    };
    messages.push(...page.messages);
    const oldest = page.messages.at(-1);
    cursor = oldest && Date.parse(oldest.createdAt) > since - 60_000 ? page.nextCursor : null;
  }
  return messages;
}

/** On a terminal overwrites one line; elsewhere prints a line for each change. */
function show(counts: Record<string, number>, seconds: number): void {
  const cells = Object.entries(counts).map(([name, count]) => `${name} ${String(count).padStart(3)}`);
  const text = cells.join('   ');
  const line = `${String(seconds).padStart(4)} s  ${text}`;
  if (process.stdout.isTTY) process.stdout.write(`\r${line}`);
  else if (text !== shown) process.stdout.write(`${line}\n`);
  shown = text;
}

async function api(method: string, route: string, body?: unknown): Promise<unknown> {
  const response = await fetch(demo.baseUrl + route, {
    method,
    headers: { authorization: `Bearer ${demo.workspaceKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (response.status === 429) {
    await pause(1000 * Number(response.headers.get('retry-after') ?? 1));
    return api(method, route, body);
  }
  if (!response.ok)
    throw new Error(`${method} ${route} failed with ${response.status}: ${await response.text()}`);
  return response.json();
}

/** Starts the product unless it is running. */
async function startProduct(): Promise<{ stop(): Promise<void> }> {
  if (await isReady()) return { stop: async () => {} };
  process.stdout.write('The product is not running yet; starting it.\n');
  const child: ChildProcess = spawn(process.execPath, ['standalone/main.ts'], {
    stdio: 'inherit',
    env: { ...process.env, DEMO: 'empty' },
  });
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error('the product did not start');
    await pause(500);
  }
  return {
    async stop() {
      child.kill('SIGINT');
      await once(child, 'exit');
    },
  };
}

async function isReady(): Promise<boolean> {
  try {
    const { baseUrl } = JSON.parse(await readFile(path.join(dataDir, 'demo.json'), 'utf8')) as Demo;
    return (await fetch(`${baseUrl}/readyz`)).ok;
  } catch {
    return false;
  }
}

async function startMailServer() {
  const received: { to: string; content: string }[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const content = Buffer.concat(chunks).toString('utf8').replaceAll('=\r\n', '');
        for (const { address } of session.envelope.rcptTo) received.push({ to: address, content });
        done();
      });
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    count: (to: string, text: string): number =>
      received.filter((message) => message.to === to && message.content.includes(text)).length,
    stop: (): Promise<void> => new Promise((resolve) => server.close(resolve)),
  };
}

async function startWebhook() {
  const state = { url: '', secret: '', verified: new Set<string>(), refused: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      try {
        const payload = new Webhook(state.secret).verify(
          Buffer.concat(chunks).toString('utf8'),
          request.headers as Record<string, string>,
        );
        state.verified.add((payload as { messageId: string }).messageId);
      } catch {
        state.refused += 1;
      }
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return Object.assign(state, {
    async stop() {
      server.closeAllConnections();
      server.close();
    },
  });
}

/** Adds an email line that uses the demo's own SMTP server. @returns its id. */
async function addSmtpLine(port: number): Promise<string> {
  const client = new pg.Client({ connectionString: demo.databaseUrl });
  await client.connect();
  const id = newId();
  await client.query(
    `insert into lines (workspace_id, id, channel, first_name, last_name, email, provisioning_status, carrier, carrier_config,
       daily_total_limit, daily_new_limit, min_gap_seconds, contact_gap_seconds, health_status)
     values ($1, $2, 'email', 'Sam', 'SMTP', 'sam@demo.example', 'active', 'smtp', $3, 500, 100, 20, 60, 'healthy')`,
    [demo.workspaceId, id, { host: '127.0.0.1', port, secure: false }],
  );
  await client.query(`insert into lookups (kind, key, workspace_id) values ('line', $1, $2)`, [
    id,
    demo.workspaceId,
  ]);
  await client.end();
  return id;
}
