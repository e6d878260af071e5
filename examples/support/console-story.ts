import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import type { Demo } from '#standalone/demo-data.ts';

/** Who writes to the demo's lines, and what. The last ones of a list are the newest. */
const CONVERSATIONS: readonly [name: string, phone: string, texts: readonly string[], tags?: string[]][] = [
  ['Priya Raman', '+14155550141', ['Is the flat on Harbour Street still free?'], ['interested']],
  ['Tom Becker', '+14155550142', ['Thanks, we took another one.'], ['not interested']],
  ['Aiko Tanaka', '+14155550143', ['Could we come by on Saturday at 10?', 'There would be three of us.']],
  ['Luis Moreno', '+14155550144', ['What is the deposit?']],
  ['Hannah Weiss', '+14155550145', ['Are dogs allowed? Ours is small and very quiet.'], ['interested']],
];
const CLIENTS = [
  { name: 'Harbour Homes', timezone: 'America/New_York', plan: 'growth' },
  { name: 'Northside Dental', timezone: 'Europe/London', plan: 'starter' },
  { name: 'Velo Workshop', timezone: 'Europe/Berlin', plan: 'mini' },
] as const;
const LIMITS = {
  dailyTotalMessagesLimit: 400,
  dailyNewConversationsLimit: 300,
  hourlyNewConversationsLimit: 300,
  minGapSeconds: 1,
  contactGapSeconds: 0,
};
const STEPS = [
  { message: 'Hi {{ firstName }}, the flat on Harbour Street is free from May. Would you like to see it?' },
  { message: 'Hi {{ firstName }}, viewings are on Saturday. Shall I keep a place?', delay: { days: 2 } },
  { message: 'Last call, {{ firstName }}: the viewing is tomorrow.', delay: { days: 3 } },
];
const PATIENCE_MS = 90_000;

/**
 * Fills the demo workspace as a week at work would, once: leads, a campaign, conversations, drafts, webhooks, clients.
 * @returns stops the server that the webhooks lead to.
 */
export async function tellStory(demo: Demo): Promise<() => void> {
  const api = client(demo.baseUrl, demo.workspaceKey);
  const session = client(demo.baseUrl, demo.sessionToken);
  const { lists } = await api('GET', '/api/lists');
  if (lists.some(({ name }: { name: string }) => name === 'Spring viewings')) return () => {};

  const stopHook = await addWebhooks(api);
  for (const lineId of demo.lineIds) await api('PATCH', `/api/lines/${lineId}`, LIMITS);
  await api('PUT', '/api/knowledge-base', {
    mode: 'copilot',
    debounceSeconds: 0,
    instructions: 'Answer in two sentences at most. Offer a viewing on Saturday.',
    documents: [{ title: 'House rules', text: 'Small dogs are welcome. The deposit is two rents.' }],
  });
  for (const { plan, ...input } of CLIENTS) {
    const { subAccount } = await session('POST', '/api/agency/subaccounts', input);
    const workspaceId = subAccount.idpOrgId as string;
    await session('POST', '/api/agency/billing/subscribe', { workspaceId, plan }).catch(() => {});
  }
  const lead = (name: string, phone: string) => {
    const [firstName, lastName] = name.split(' ');
    return { firstName, lastName, phone };
  };
  await api('POST', '/api/leads', { leads: CONVERSATIONS.map(([name, phone]) => lead(name, phone)) });
  const listId = await importLeads(demo, api);
  const lines = { eligibleLineIds: demo.lineIds.slice(0, 2), stickinessPolicy: 'round_robin' };
  await api('POST', '/api/campaigns', {
    name: 'Spring viewings',
    listId,
    steps: STEPS,
    ...lines,
    start: true,
  });
  await api('POST', '/api/campaigns', { name: 'Summer offer', steps: STEPS.slice(0, 2) });

  const [lineId = ''] = demo.lineIds;
  for (const [, recipientPhone, texts, tags] of CONVERSATIONS) {
    const message = 'The flat on Harbour Street is free from May: two rooms, a balcony, 1,450 a month.';
    await api('POST', '/api/messages', { message, recipientPhone, fromLineId: lineId });
    await eventually(async () => (await sentTo(api, recipientPhone)) > 0);
    for (const text of texts)
      await api('POST', '/simulated/carrier/inbound', { lineId, from: recipientPhone, text });
    await eventually(
      async () => (await api('GET', '/api/replies?limit=1')).replies[0]?.recipientPhone === recipientPhone,
    );
    if (tags) await api('POST', `/api/conversations/${encodeURIComponent(recipientPhone)}/tags`, { tags });
  }
  const at = new Date(Date.now() + 86_400_000).toISOString();
  const later = { message: 'See you on Saturday at 10!', recipientPhone: '+14155550143', scheduledDate: at };
  await api('POST', '/api/messages', later);
  // The simulated carrier refuses this number.
  await api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: '+14155550002',
    fromLineId: lineId,
  });
  await api('POST', '/api/opt-outs', { address: '+14155550190' });
  await eventually(async () => (await api('GET', '/api/analytics')).metrics?.sent > 60).catch(() => {});
  return stopHook;
}

/** A hundred of the demo's recipients, from their file. */
async function importLeads(demo: Demo, api: Api): Promise<string> {
  const listId = (await api('POST', '/api/lists', { name: 'Spring viewings' })).list._id as string;
  const file = await readFile(new URL('../recipients.csv', import.meta.url), 'utf8');
  const rows = parse<{ name: string; phone: string; email: string }>(file, { columns: true, to: 100 });
  const lines = rows.map(({ name, phone, email }) => [...name.split(' '), phone, email].join(','));
  const body = ['First name,Last name,Phone,Email', ...lines].join('\n');
  const response = await fetch(`${demo.baseUrl}/api/lists/${listId}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo.workspaceKey}`, 'content-type': 'text/csv' },
    body,
  });
  const { importId } = (await response.json()) as { importId: string };
  await eventually(
    async () => (await api('GET', `/api/lists/${listId}/imports/${importId}`)).status === 'completed',
  );
  return listId;
}

/** One that answers, and one that fails. @returns stops their server. */
async function addWebhooks(api: Api): Promise<() => void> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(request.url === '/crm' ? 204 : 500).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const events = ['message.sent', 'message.reply', 'message.failed'];
  await api('POST', '/api/webhooks', { url: `${url}/crm`, name: 'CRM', events });
  await api('POST', '/api/webhooks', { url: `${url}/reports`, name: 'Reports', events: ['message.failed'] });
  return () => server.close();
}

const sentTo = async (api: Api, phone: string): Promise<number> =>
  (await api('GET', `/simulated/carrier/sent?to=${encodeURIComponent(phone)}`)).messages.length;

async function eventually(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await condition());) {
    if (Date.now() > deadline) throw new Error('the product took too long');
    await pause(300);
  }
}

// oxlint-disable-next-line no-explicit-any
type Api = (method: string, path: string, body?: unknown) => Promise<any>;

const client =
  (url: string, token: string): Api =>
  async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status === 429) {
      await pause(1000 * Number(response.headers.get('retry-after') ?? 1));
      return client(url, token)(method, path, body);
    }
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json().catch(() => null);
  };
