import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { sql } from 'slonik';
import { z } from 'zod';
import { connected } from '../../db/connection/connected.ts';
import { withSystem } from '../../db/connection/transactions.ts';
import { newApiKey } from '../../domain/accounts/api-key.ts';
import { newId } from '../../domain/base/ids.ts';
import { sealConfig } from '../../providers/carriers/secret-config.ts';
import { SmtpConfig } from '../../providers/carriers/smtp/config.ts';
import { TwilioConfig } from '../../providers/carriers/twilio/api.ts';
import { createSecretBox, secretContext } from '../../providers/secret-box.ts';
import { type Product, startProduct } from './support/product.ts';
import { quantile } from './support/webhook-load.ts';
import { createBenchWorkspace } from './support/workspace.ts';

/**
 * Measures what one tenant can do to the others: how long `/healthz` and another tenant's read of one row take while it
 * attacks with its own key and lines.
 *
 *   npm run bench -- attacks JSON exports     only the attacks whose names contain one of these
 */
const SECRET = 'a secret for callbacks';
/** Concurrent requests of an attack. */
const AT_ONCE = 8;
const ATTACK_MS = 10_000;
const BETWEEN_PROBES_MS = 60;
/** Several workspaces, since each may read 120 times a minute. */
const BYSTANDERS = 10;

interface Target {
  product: Product;
  url: string;
  attacker: { id: string; key: string };
  emailLine: string;
  smsLine: string;
  /** A list of leads with custom fields of 45 KB, and of others with 20,000 distinct ones if that is accepted. */
  wideList: string;
  agencyKey: string;
  phoneLines: string[];
  workspaceIds: string[];
  /** The URL of a server whose answers are 4 MB of zeros. */
  hostileUrl: string;
  /** The page of an opt-in link. */
  optInPage: string;
}

type Attack = (target: Target, turn: number) => Promise<Response>;

const post = (url: string, body: unknown, key?: string): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify(body),
  });

const put = (url: string, body: unknown, key: string): Promise<Response> =>
  fetch(url, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });

const email =
  (fields: () => object): Attack =>
  ({ url, emailLine }) =>
    post(`${url}/callbacks/carriers/smtp/${emailLine}?secret=${encodeURIComponent(SECRET)}`, {
      MessageID: newId(),
      From: `${newId()}@example.com`,
      ...fields(),
    });

// Built once, so that the work of the attacker's process is not measured.
const SMALL_ARRAYS = `[${'[],'.repeat(3_300_000)}1]`;
const TEN_MEGABYTES = Buffer.alloc(10_000_000, 'x');
const FIELDS = Array.from({ length: 100_000 }, (_, index) => `f${index}=`).join('&');
const FILES = Array.from({ length: 100_000 }, () => ({ Name: 'x', Content: '' }));

const nested = (depth: number, width: number): string =>
  `{"message":[${Array.from({ length: width }, () => '['.repeat(depth) + ']'.repeat(depth)).join(',')}]}`;
/** A body of 1 MB, compressed to a few kilobytes. */
const DEEP = gzipSync(nested(95, 5400));
const WIDE = `{"message":{${Array.from({ length: 75_000 }, (_, index) => `"f${index}":0`).join(',')}}}`;
const SHORT_NUMBERS = {
  leads: Array.from({ length: 5000 }, () => ({
    phones: Array.from({ length: 20 }, (_, index) => `0${index}${index}`),
  })),
};
const wideLead = (index: number) => ({
  phone: `+1415555${String(index).padStart(4, '0')}`,
  customFields: Object.fromEntries(
    Array.from({ length: 45 }, (_, field) => [`field ${field}`, 'x'.repeat(1000)]),
  ),
});

const postText = (url: string, body: string | Buffer<ArrayBuffer>, key = ''): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(Buffer.isBuffer(body) && { 'content-encoding': 'gzip' }),
      ...(key !== '' && { authorization: `Bearer ${key}` }),
    },
    body,
  });

const loop = '{% for a in (1..300) %}{% for b in (1..300) %}{{ a }}{% endfor %}{% endfor %}';

/** Ordering them takes time proportional to the square of their number. */
const MARKS = `a${'\u0301\u0316'.repeat(50_000)}`;
const ANSWER = `{"status":200,"data":[${'0,'.repeat(2_000_000)}0]}`;
/** What the inbox has sent to a contact, who quotes all of it among letters that are many letters. */
const SENT = Array.from(
  { length: 100 },
  (_, index) => `${index} is what we wrote to you, with offer ${index * 7919}`,
);
const QUOTATIONS = `${SENT.join('\n')}${'\ufdfa'.repeat(90_000)}`;
const WIDE_ROW = Array.from({ length: 45_000 }, (_, index) => `c${index}`).join(',');
const WIDE_CSV = `email,${WIDE_ROW}\na@example.com,${WIDE_ROW}\n`;
const FILE = { Name: 'a.txt', ContentType: 'text/plain', Content: 'eHh4'.repeat(250_000) };
/** Bodies of 100 KB that the inbox holds. */
const LONG_REPLIES = 2000;

const ATTACKS: Record<string, Attack> = {
  'no attack': async ({ url }) => {
    await pause(100);
    return fetch(`${url}/healthz`);
  },
  'HTML nested, 400 KB': email(() => ({ HtmlBody: '<div>'.repeat(80_000) })),
  'HTML lists, 1 MB': email(() => ({ HtmlBody: '<ul><li>'.repeat(125_000) })),
  'HTML wide, 1 MB': email(() => ({ HtmlBody: '<p>x</p>'.repeat(125_000) })),
  'a sender of 200 KB': email(() => ({ From: '<'.repeat(200_000), TextBody: 'x' })),
  'references of 900 KB': email(() => ({
    TextBody: 'x',
    Headers: [{ Name: 'References', Value: '<'.repeat(900_000) }],
  })),
  'text of 3 MB': email(() => ({ TextBody: 'long '.repeat(600_000) })),
  'quotes of 1 MB': email(() => ({ TextBody: 'On a b c d e\n'.repeat(80_000) })),
  '100,000 files': email(() => ({
    TextBody: 'x',
    Attachments: FILES,
  })),
  'JSON of 10 MB in small arrays': ({ url, emailLine }) =>
    fetch(`${url}/callbacks/carriers/smtp/${emailLine}?secret=${encodeURIComponent(SECRET)}`, {
      method: 'POST',
      body: SMALL_ARRAYS,
    }),
  'wrong secret, 10 MB': ({ url, emailLine }) =>
    fetch(`${url}/callbacks/carriers/smtp/${emailLine}?secret=wrong`, {
      method: 'POST',
      body: TEN_MEGABYTES,
    }),
  'a form of 100,000 fields': ({ url, smsLine }) =>
    fetch(`${url}/callbacks/carriers/twilio/${smsLine}`, {
      method: 'POST',
      headers: { 'x-twilio-signature': 'x' },
      body: FIELDS,
    }),
  'templates of nested loops': ({ url, attacker }) =>
    post(
      `${url}/api/campaigns`,
      {
        name: newId(),
        steps: Array.from({ length: 20 }, () => ({ message: loop, delay: {} })),
      },
      attacker.key,
    ),
  'nested JSON of nobody, compressed': ({ url }) => postText(`${url}/api/console/session`, DEEP),
  'nested JSON in drips, compressed': ({ url, attacker }) => postText(`${url}/api/drip`, DEEP, attacker.key),
  'drips of 75,000 fields': ({ url, attacker }) => postText(`${url}/api/drip`, WIDE, attacker.key),
  'leads of 100,000 short numbers': ({ url, attacker }) =>
    post(`${url}/api/leads`, SHORT_NUMBERS, attacker.key),
  'exports of wide leads': ({ url, attacker, wideList }) =>
    fetch(`${url}/api/lists/${wideList}/export`, { headers: { authorization: `Bearer ${attacker.key}` } }),
  'wrong keys': ({ url }) => fetch(`${url}/api/lists`, { headers: { authorization: `Bearer ${newId()}` } }),
  'combining marks by email': email(() => ({ TextBody: MARKS, Subject: MARKS.slice(0, 5000) })),
  'hostile answers of a carrier': ({ url, attacker, phoneLines, hostileUrl }, turn) =>
    put(
      `${url}/api/lines/${phoneLines[turn % phoneLines.length]}/carrier`,
      { provider: 'bluebubbles', config: { url: hostileUrl, password: 'x', method: 'apple-script' } },
      attacker.key,
    ),
  'CSV of 45,000 columns': ({ url, attacker, wideList }) =>
    fetch(`${url}/api/lists/${wideList}/import/preview`, {
      method: 'POST',
      headers: { 'content-type': 'text/csv', authorization: `Bearer ${attacker.key}` },
      body: WIDE_CSV,
    }),
  'searches of long replies': ({ url, attacker }) =>
    fetch(`${url}/api/conversations?q=zzz`, { headers: { authorization: `Bearer ${attacker.key}` } }),
  'replies that ask for drafts': email(() => ({
    TextBody: `What does ${newId()} cost, and when can I come?`,
  })),
  'replies that quote 100 messages': email(() => ({ From: 'writer@example.com', TextBody: QUOTATIONS })),
  'visits of an opt-in page': ({ optInPage }) => fetch(optInPage),
  'emails with files of 750 KB': email(() => ({ TextBody: 'x', Attachments: [FILE] })),
  'line transfers': ({ url, agencyKey, phoneLines, workspaceIds }, turn) =>
    post(
      `${url}/api/agency/lines`,
      {
        action: 'transfer',
        lineId: phoneLines[turn % phoneLines.length],
        targetWorkspaceId: workspaceIds[turn % workspaceIds.length],
      },
      agencyKey,
    ),
};

/** Creates the attacker's lines and its agency with another workspace. */
async function prepare(product: Product, hostileUrl: string): Promise<Target> {
  const [attacker, other] = [
    await createBenchWorkspace(product.pools, 4),
    await createBenchWorkspace(product.pools, 0),
  ];
  const [emailLine, smsLine] = [newId(), newId()];
  const box = createSecretBox(product.config.encryptionKeys);
  const sealed = (lineId: string, schema: z.ZodType, given: Record<string, unknown>): string =>
    JSON.stringify(
      sealConfig(schema, given, (plain) => box.seal(plain, secretContext('line', attacker.id, lineId))),
    );
  const smtp = sealed(emailLine, SmtpConfig, { host: 'mail.example.com', inboundSecret: SECRET });
  const twilio = sealed(smsLine, TwilioConfig, { accountSid: 'AC1', authToken: 'token' });
  const agencyId = `agency_${newId()}`;
  const { key: agencyKey, hash, prefix, last4 } = newApiKey('agency');
  await withSystem(product.pools, async (db) => {
    const run = (query: Parameters<typeof db.query>[0]) => db.query(query);
    for (const [lineId, channel, carrier, config] of [
      [emailLine, 'email', 'smtp', smtp],
      [smsLine, 'sms', 'twilio', twilio],
    ] as const)
      for (const statement of [
        sql.type(z.unknown())`
          insert into lines (workspace_id, id, channel, provisioning_status, carrier, carrier_config, daily_total_limit,
            daily_new_limit, min_gap_seconds, contact_gap_seconds)
          values (${attacker.id}, ${lineId}, ${channel}, 'active', ${carrier}, ${config}, 500, 100, 20, 60)`,
        sql.type(z.unknown())`
          insert into lookups (kind, key, workspace_id) values ('line', ${lineId}, ${attacker.id})`,
      ])
        await run(statement);
    await run(sql.type(z.unknown())`insert into agencies (id, name) values (${agencyId}, 'Bench')`);
    await run(sql.type(z.unknown())`
      insert into agency_keys (agency_id, id, name, hash, prefix, last4)
      values (${agencyId}, ${newId()}, 'Bench', ${hash}, ${prefix}, ${last4})`);
    await run(sql.type(z.unknown())`
      update workspaces set agency_id = ${agencyId} where id = any(${sql.array([attacker.id, other.id], 'text')})`);
  });
  const url = product.urls[0] ?? '';
  const wideList = await createWideList(url, attacker.key);
  await fillInbox(product, attacker.id, emailLine);
  await turnOnCopilot(url, attacker.key);
  const optInPage = await createOptInPage(url, attacker.key, attacker.lineIds[0] ?? '');
  return {
    optInPage,
    product,
    url,
    wideList,
    attacker,
    emailLine,
    smsLine,
    agencyKey,
    phoneLines: attacker.lineIds,
    workspaceIds: [other.id, attacker.id],
    hostileUrl,
  };
}

/** As if a contact had written them, and had been written to. */
const fillInbox = (product: Product, workspaceId: string, lineId: string): Promise<unknown> =>
  connected(product.ownerUrl, async (client) => {
    await client.query(
      `insert into messages (workspace_id, id, channel, status, address, body, scheduled_at, sent_at, source)
       select $1, lpad(to_hex(n), 24, '0'), 'email', 'delivered', 'writer@example.com', body, now(), now(), 'api'
       from unnest($2::text[]) with ordinality as sent (body, n)`,
      [workspaceId, SENT],
    );
    for (let start = 0; start < LONG_REPLIES; start += 100)
      await client.query(
        `insert into inbound_messages (workspace_id, id, line_id, address, carrier_message_id, body, received_at)
         select $1, lpad(to_hex(n), 24, '0'), $2, 'writer@example.com', 'long-' || n,
           (select string_agg(md5(n::text || m), ' ') from generate_series(1, 3000) m), now()
         from generate_series($3::int, $3::int + 99) n`,
        [workspaceId, lineId, start + 1],
      );
  });

async function createOptInPage(url: string, key: string, lineId: string): Promise<string> {
  const input = { name: 'Poster', text: 'I want offers', consent: 'Offers by text', lineId };
  const created = await post(`${url}/api/opt-in-links`, input, key);
  const { code } = z.object({ code: z.string() }).parse(await created.json());
  return `${url}/join/${code}`;
}

async function turnOnCopilot(url: string, key: string): Promise<void> {
  const words = Array.from({ length: 9000 }, (_, index) => `word${index}`).join(' ');
  const documents = Array.from({ length: 9 }, (_, index) => ({ title: `Part ${index}`, text: words }));
  const { status } = await put(
    `${url}/api/knowledge-base`,
    { mode: 'copilot', debounceSeconds: 0, documents },
    key,
  );
  if (status !== 200) throw new Error(`the knowledge base was answered with ${status}`);
}

/** A carrier's server that answers every request with 4 MB. */
async function startHostileServer(): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function createWideList(url: string, key: string): Promise<string> {
  const created = await post(`${url}/api/lists`, { name: newId() }, key);
  const { list } = z.object({ list: z.object({ _id: z.string() }) }).parse(await created.json());
  for (let part = 0; part < 10; part += 1) {
    const leads = Array.from({ length: 20 }, (_, index) => wideLead(part * 20 + index));
    const { status } = await post(`${url}/api/leads`, { listId: list._id, leads }, key);
    if (status !== 200 && status !== 201) throw new Error(`leads were answered with ${status}`);
  }
  const leads = Array.from({ length: 200 }, (_, index) => ({
    phone: `+1415556${String(index).padStart(4, '0')}`,
    customFields: Object.fromEntries(
      Array.from({ length: 100 }, (_, field) => [`own ${index} ${field}`, 'x']),
    ),
  }));
  await post(`${url}/api/leads`, { listId: list._id, leads }, key);
  return list._id;
}

/** Sends requests one after another until `signal`. @returns the time of each response in milliseconds. */
async function probe(ask: () => Promise<Response>, signal: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  while (!signal.aborted) {
    const started = performance.now();
    const response = await ask();
    await response.arrayBuffer();
    times.push(performance.now() - started);
    await pause(BETWEEN_PROBES_MS);
  }
  return times;
}

const shown = (times: number[]): string => {
  const sorted = times.toSorted((a, b) => a - b);
  return [0.5, 0.99, 1].map((q) => quantile(sorted, q).toFixed(0).padStart(6)).join('');
};

const product = await startProduct();
const hostile = await startHostileServer();
try {
  const target = await prepare(product, hostile.url);
  const bystanders = await Promise.all(
    Array.from({ length: BYSTANDERS }, () => createBenchWorkspace(product.pools, 1)),
  );
  let reads = 0;
  const readRow = (): Promise<Response> => {
    const bystander = bystanders[(reads += 1) % BYSTANDERS];
    return fetch(`${target.url}/api/lines/${bystander?.lineIds[0]}/carrier`, {
      headers: { authorization: `Bearer ${bystander?.key}` },
    });
  };
  console.log(
    'attack                          requests  statuses            /healthz ms p50 p99 max   a row ms p50 p99 max',
  );
  const chosen = process.argv.slice(2);
  for (const [name, attack] of Object.entries(ATTACKS)) {
    if (chosen.length > 0 && !chosen.some((part) => name.includes(part))) continue;
    const over = new AbortController();
    const health = probe(() => fetch(`${target.url}/healthz`), over.signal);
    const read = probe(readRow, over.signal);
    const end = Date.now() + ATTACK_MS;
    const statuses = new Map<string, number>();
    let turn = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (Date.now() < end) {
          const status = await attack(target, (turn += 1))
            .then(async (response) => {
              await response.arrayBuffer();
              return String(response.status);
            })
            .catch(() => 'reset');
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }),
    );
    over.abort();
    const [ofHealth, ofRow] = [await health, await read];
    const answers = [...statuses].map(([status, count]) => `${status} x${count}`).join(', ');
    console.log(
      `${name.padEnd(32)}${String(turn).padEnd(10)}${answers.padEnd(30)}${shown(ofHealth)}   ${shown(ofRow)}`,
    );
  }
} finally {
  hostile.server.close();
  await product.stop();
}
