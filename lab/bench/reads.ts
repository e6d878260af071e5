import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { freePort } from '../../providers/free-port.ts';
import { startProcess } from '../../test/support/process.ts';
import { temporaryFolder } from './support/leftovers.ts';
import { callerOf } from './support/callers.ts';
import { listId, loadContacts } from './support/contact-load.ts';
import { CAMPAIGNS, hexId, LINES, loadMessages } from './support/message-load.ts';
import { LINEPACE, median, report, type Row } from './support/rows.ts';
import { startServers } from './support/servers.ts';
import { quantile } from './support/webhook-load.ts';

/**
 * Measures every list, search and read of the API in a large workspace, each request for another line, campaign, list, contact or
 * message: `npm run bench -- reads [--messages 10000000 --leads 1000000 --rounds 3 --requests 100]`. The endpoints take turns, and a row is
 * the slowest of a hundred responses in each round.
 */
const { values: options } = parseArgs({
  options: {
    messages: { type: 'string', default: '10000000' },
    leads: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '3' },
    // More than 120 a minute would be refused.
    requests: { type: 'string', default: '100' },
  },
});
const [MESSAGES, LEADS, ROUNDS, REQUESTS] = [
  options.messages,
  options.leads,
  options.rounds,
  options.requests,
].map(Number) as [number, number, number, number];

const folder = temporaryFolder('linepace-bench-files-');
process.env['DATA_DIR'] = folder;
const { config, ownerUrl, stop } = await startServers();
const owner = new pg.Client({ connectionString: ownerUrl });
await owner.connect();
const { id: workspaceId } = await loadMessages(owner, MESSAGES, /./);
const key = await loadContacts(owner, workspaceId, LEADS);
const port = await freePort();
const api = await startProcess('api/server.ts', config, port);
const call = callerOf({ publicUrl: `http://127.0.0.1:${port}` }, key);

const { rows: messageIds } = await owner.query<{ id: string }>(
  `select id from messages tablesample system (${Math.min(100, 1_000_000 / MESSAGES)}) where workspace_id = $1 limit 1000`,
  [workspaceId],
);
const spread = (n: number, most: number): number => (n * 7919) % most;
const lead = (n: number): number => spread(n * 101, Math.min(LEADS, MESSAGES / 4));
const leadId = (n: number): string => lead(n).toString(16).padStart(24, '0');
const phone = (n: number): string => encodeURIComponent(`+1${2_000_000_000 + lead(n) * 7}`);
const message = (n: number): string => messageIds[n % messageIds.length]?.id ?? '';
const line = (n: number): string => hexId('65', spread(n, LINES));
const campaign = (n: number): string => hexId('66', spread(n, CAMPAIGNS));

/** Reads nothing: what the machine and HTTP take at the time. */
const NOTHING = 'nothing (/healthz)';
/** The path of the request `n`. */
const QUESTIONS: Record<string, (n: number) => string> = {
  [NOTHING]: () => '/healthz',
  messages: () => '/api/messages',
  'messages, a page in the middle': (n) => `/api/messages?cursor=${message(n)}`,
  'messages of a line': (n) => `/api/messages?lineId=${line(n)}`,
  'messages of a lead': (n) => `/api/messages?leadId=${leadId(n)}`,
  'messages of a campaign': (n) => `/api/messages?campaignId=${campaign(n)}`,
  'messages of a line in a campaign': (n) => `/api/messages?lineId=${line(n)}&campaignId=${campaign(n)}`,
  'messages of a line in a campaign, of a status': (n) =>
    `/api/messages?lineId=${line(n)}&campaignId=${campaign(n)}&status=scheduled`,
  'messages that failed': () => '/api/messages?status=failed',
  'messages that wait': () => '/api/messages?status=pending',
  'messages of a line that failed': (n) => `/api/messages?status=failed&lineId=${line(n)}`,
  'messages of a line that were canceled': (n) => `/api/messages?status=canceled&lineId=${line(n)}`,
  'messages with a correlation id': (n) => `/api/messages?correlationId=none-${n}`,
  'a message': (n) => `/api/messages/${message(n)}`,
  'the timeline of a message': (n) => `/api/messages/${message(n)}/timeline`,
  leads: () => '/api/leads',
  'leads of a list': (n) => `/api/leads?listId=${listId(n)}`,
  'leads by email': (n) => `/api/leads?search=person${lead(n)}@`,
  'leads by name': (n) => `/api/leads?search=Ada${lead(n)}`,
  'leads by a company that a thousand have': (n) =>
    `/api/leads?search=${encodeURIComponent(`Company ${n % 1000}`)}`,
  'leads by a domain that all have': () => '/api/leads?search=example.com',
  'leads by what none has': () => '/api/leads?search=nobody',
  'leads by two letters that all have': () => '/api/leads?search=ad',
  'leads by two letters that none has': () => '/api/leads?search=zz',
  'a lead': (n) => `/api/leads/${leadId(n)}`,
  lists: () => '/api/lists',
  replies: () => '/api/replies',
  'replies of a line': (n) => `/api/replies?lineId=${line(n)}`,
  conversations: () => '/api/conversations',
  'conversations that are open': () => '/api/conversations?status=open',
  'conversations that are closed': () => '/api/conversations?status=closed',
  'conversations that nobody is assigned to': () => '/api/conversations?assignee=none',
  'conversations with a tag': () => '/api/conversations?tag=interested',
  'conversations with a tag that none has': () => '/api/conversations?tag=none',
  'conversations that are unread': () => '/api/conversations?unread=true',
  'conversations that were read': () => '/api/conversations?unread=false',
  'conversations of a line': (n) => `/api/conversations?line=${line(n)}`,
  'conversations with a tag, of a line': (n) => `/api/conversations?tag=interested&line=${line(n)}`,
  'conversations by a name': (n) => `/api/conversations?q=Ada${lead(n)}`,
  'conversations by what none has': () => '/api/conversations?q=nobody',
  'a conversation': (n) => `/api/conversations/${phone(n)}`,
  campaigns: () => '/api/campaigns',
  'a campaign': (n) => `/api/campaigns/${campaign(n)}`,
  lines: () => '/api/lines/by-user',
};

const times = new Map(Object.keys(QUESTIONS).map((name) => [name, [] as number[][]]));
try {
  // The first round warms up, with fewer requests.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, pathOf] of Object.entries(QUESTIONS)) {
      await owner.query('truncate rate_limits');
      const took: number[] = [];
      for (let n = 0; n < (round === 0 ? 5 : REQUESTS); n += 1) {
        const started = performance.now();
        const { status, body } = await call('GET', pathOf(n + round * REQUESTS));
        if (status !== 200) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
        took.push(performance.now() - started);
      }
      if (round > 0) times.get(name)?.push(took);
    }
  }
  for (const [name, rounds] of times)
    console.log(
      `${name}: median ${median(rounds.flat()).toFixed(1)} ms, 99 % ${median(rounds.map((took) => quantile(took, 0.99))).toFixed(1)} ms`,
    );
  const row = { subject: LINEPACE, unit: 'ms, 99 % of responses', more: false };
  const size = `${MESSAGES.toLocaleString('en')} messages, ${LEADS.toLocaleString('en')} leads`;
  await report(
    [...times].map(([name, rounds]): Row => ({
      ...row,
      work: `${size}: ${name}`,
      values: rounds.map((took) => quantile(took, 0.99)),
      ...(name !== NOTHING && { goal: 50 }),
    })),
  );
} finally {
  await api.kill();
  await owner.end();
  await stop();
  rmSync(folder, { recursive: true, force: true });
}
