import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { withSystem } from '#db/transactions.ts';
import { newApiKey } from '#domain/api-key.ts';
import { newAgencyId, newId, newUserId } from '#domain/ids.ts';
import { callbackKey } from '#providers/carriers/simulated-protocol.ts';
import { countDeadlocks, startListener, startProduct } from './product.ts';
import { quantile } from './webhook-load.ts';
import { createBenchWorkspace, unpaced } from './workspace.ts';

/**
 * Everything that wants the same rows at once: `npm run bench:contention [-- --seconds 300]`. An agency's two workspaces
 * run campaigns of three steps with a webhook that hears of all, while their contacts reply and say STOP, messages are
 * canceled, lines are switched off and on and move to and fro between the two, and addresses are checked; as fast as
 * the API lets them. A quiet tenant does a little of each beside them.
 *
 * PostgreSQL finds no deadlock, the quiet tenant waits for nothing longer than two seconds, and the carrier's log has
 * what the database says was sent, once.
 */
const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '300' }, leads: { type: 'string', default: '1000' } },
});
const SECONDS = Number(options.seconds);
const LEADS = Number(options.leads);
const LINES = 4;
const SLOWEST_MS = 2000;

const product = await startProduct();
const { pools, config, simulatorUrl } = product;

interface Tenant {
  id: string;
  key: string;
  lineIds: string[];
  webhook: Awaited<ReturnType<typeof startListener>>;
}

async function request(key: string, method: string, path: string, body?: object) {
  const response = await fetch(`${config.publicUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  // oxlint-disable-next-line no-explicit-any
  return { status: response.status, body: (await response.json()) as any };
}

async function createTenant(): Promise<Tenant> {
  const tenant = await createBenchWorkspace(pools, LINES);
  await unpaced(pools, tenant.id);
  return { ...tenant, webhook: await startListener(product, tenant.key) };
}

/** An agency that owns these workspaces. @returns its key. */
async function createAgency(workspaces: readonly Tenant[]): Promise<string> {
  const [id, userId] = [newAgencyId(), newUserId()];
  const { key, hash, prefix, last4 } = newApiKey('agency');
  await withSystem(pools, async (db) => {
    const run = (query: Parameters<typeof db.query>[0]) => db.query(query);
    await run(
      sql.type(z.unknown())`insert into users (id, email) values (${userId}, ${`${userId}@example.test`})`,
    );
    await run(sql.type(z.unknown())`insert into agencies (id, name) values (${id}, 'Bench')`);
    await run(sql.type(z.unknown())`
      insert into agency_members (agency_id, user_id, role) values (${id}, ${userId}, 'owner')`);
    await run(sql.type(z.unknown())`
      insert into agency_keys (agency_id, id, name, hash, prefix, last4) values (${id}, ${newId()}, 'Bench', ${hash}, ${prefix}, ${last4})`);
    await run(sql.type(z.unknown())`
      update workspaces set agency_id = ${id} where id = any(${sql.array(
        workspaces.map((workspace) => workspace.id),
        'text',
      )})`);
  });
  return key;
}

let contacts = 0;
/** Last digits that ask nothing special of the simulated carrier. */
const newContact = (): string => {
  contacts += 1;
  return `+1${200 + (Math.floor(contacts / 900) % 700)}555${1000 + (contacts % 900)}`;
};

async function reply(lineId: string, from: string, text: string): Promise<number> {
  const id = newId();
  const at = new Date();
  const event = {
    kind: 'reply',
    eventId: id,
    at,
    carrierMessageId: id,
    from,
    text,
    attachments: [],
    autoReply: false,
  };
  const body = JSON.stringify({ lineId, events: [event] });
  const response = await fetch(`${config.publicUrl}/callbacks/carriers/simulated/${lineId}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(callbackKey(config.simulator?.secret ?? '')).sign(id, at, body),
    },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}

const quietTimes = new Map<string, number[]>();
const statuses = new Map<string, number>();
const unexpected = (status: number): boolean => status >= 500;

/** Runs an operation again and again until the time is over; those of the quiet tenant are timed. */
async function repeat(
  name: string,
  everyMs: number,
  operation: () => Promise<{ status: number } | number | undefined>,
  { timed = false } = {},
): Promise<void> {
  while (performance.now() < end) {
    const started = performance.now();
    const result = await operation().catch((error: unknown) => {
      console.log(`${name}: ${String(error)}`);
      return 599;
    });
    const took = performance.now() - started;
    const status = typeof result === 'object' ? result.status : (result ?? 0);
    const group = `${timed ? 'quiet' : 'busy'} ${name} ${status}`;
    statuses.set(group, (statuses.get(group) ?? 0) + 1);
    if (timed && status !== 429 && status !== 0)
      quietTimes.set(name, [...(quietTimes.get(name) ?? []), took]);
    await pause(Math.max(0, everyMs * (0.5 + Math.random()) - took));
  }
}

async function startCampaign({ key }: Tenant, leads: number): Promise<{ id: string; numbers: string[] }> {
  const { body: list } = await request(key, 'POST', '/api/lists', { name: 'Bench' });
  const listId = list.list._id as string;
  const numbers = Array.from({ length: leads }, newContact);
  for (let from = 0; from < leads; from += 500) {
    const chunk = numbers.slice(from, from + 500).map((phone) => ({ phone }));
    const { status } = await request(key, 'POST', '/api/leads', { listId, leads: chunk });
    if (status >= 300) throw new Error(`the leads were answered with ${status}`);
  }
  const steps = Array.from({ length: 3 }, (_, step) => ({ message: `Step ${step}` }));
  const { body } = await request(key, 'POST', '/api/campaigns', {
    name: 'Bench',
    listId,
    steps,
    stopOnReply: true,
    start: true,
  });
  return { id: body.campaign._id as string, numbers };
}

const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)] as T;

/** The operations of one tenant. @param pace milliseconds between two of one kind. */
function operations(
  tenant: Tenant,
  numbers: string[],
  campaignId: string,
  pace: number,
  timed: boolean,
): Promise<void>[] {
  const { key, lineIds } = tenant;
  const waiting: string[] = [];
  const send = async () => {
    const scheduledDate = new Date(Date.now() + (Math.random() < 0.5 ? 0 : 3_600_000)).toISOString();
    const answer = await request(key, 'POST', '/api/messages', {
      recipientPhone: Math.random() < 0.5 ? pick(numbers) : newContact(),
      message: `Once ${newId()}`,
      scheduledDate,
    });
    if (answer.status === 201) waiting.push(answer.body._id as string);
    return answer;
  };
  const cancel = async () => {
    const id = waiting.splice(Math.floor(Math.random() * waiting.length), 1)[0];
    return id === undefined ? undefined : request(key, 'POST', `/api/messages/${id}/cancel`);
  };
  const patch = () => {
    const daily = 9000 + Math.floor(Math.random() * 1000);
    return request(key, 'PATCH', `/api/lines/${pick(lineIds)}`, {
      dailyTotalMessagesLimit: daily,
      ...(Math.random() < 0.3 && { isActive: Math.random() < 0.7 }),
    });
  };
  const opt = { timed };
  return [
    repeat('send', pace, send, opt),
    repeat('cancel', pace, cancel, opt),
    repeat('reply', pace, () => reply(pick(lineIds), pick(numbers), 'Tell me more'), opt),
    repeat('STOP', pace * 4, () => reply(pick(lineIds), pick(numbers), 'STOP'), opt),
    repeat('opt-out', pace * 4, () => request(key, 'POST', '/api/opt-outs', { address: pick(numbers) }), opt),
    repeat('change line', pace * 2, patch, opt),
    repeat(
      'availability',
      pace,
      () => request(key, 'POST', '/api/leads/check-availability', { address: newContact() }),
      opt,
    ),
    repeat(
      'add lead',
      pace,
      () => request(key, 'POST', `/api/campaigns/${campaignId}/leads`, { lead: { phone: newContact() } }),
      opt,
    ),
    repeat(
      'pause, resume',
      pace * 8,
      async () => {
        await request(key, 'POST', `/api/campaigns/${campaignId}/pause`);
        return request(key, 'POST', `/api/campaigns/${campaignId}/resume`);
      },
      opt,
    ),
    repeat('read', pace, () => request(key, 'GET', '/api/messages?limit=20'), opt),
  ];
}

const [busy, other, quiet] = [await createTenant(), await createTenant(), await createTenant()];
const tenants = [busy, other, quiet];
const agencyKey = await createAgency([busy, other]);
const campaigns = [
  await startCampaign(busy, LEADS),
  await startCampaign(other, LEADS),
  await startCampaign(quiet, 20),
] as const;
const end = performance.now() + SECONDS * 1000;
const transfer = () =>
  request(agencyKey, 'POST', '/api/agency/lines', {
    action: 'transfer',
    lineId: pick([...busy.lineIds, ...other.lineIds]),
    targetWorkspaceId: pick([busy, other]).id,
  });
await Promise.all([
  ...Array.from({ length: 4 }, () =>
    operations(busy, campaigns[0].numbers, campaigns[0].id, 20, false),
  ).flat(),
  ...operations(other, campaigns[1].numbers, campaigns[1].id, 100, false),
  ...operations(quiet, campaigns[2].numbers, campaigns[2].id, 1200, true),
  repeat('move line', 300, transfer),
  repeat('move line', 300, transfer),
]);

// What still waits leaves now, through lines that may all send.
const count = (condition: ReturnType<typeof sql.fragment>): Promise<number> =>
  withSystem(pools, (db) =>
    db.oneFirst(
      sql.type(z.object({ count: z.int() }))`select count(*) "count" from messages where ${condition}`,
    ),
  );
await withSystem(pools, (db) => db.query(sql.type(z.unknown())`update lines set is_active = true`));
const lineIds = tenants.flatMap((tenant) => tenant.lineIds);
for (const lineId of lineIds)
  for (const { key } of tenants) await request(key, 'PATCH', `/api/lines/${lineId}`, { isActive: true });
for (const [index, { id }] of campaigns.entries())
  await request((tenants[index] as Tenant).key, 'POST', `/api/campaigns/${id}/resume`);
const drainedBy = performance.now() + 300_000;
let open = Infinity;
while (open > 0 && performance.now() < drainedBy) {
  await pause(2000);
  open = await count(
    sql.fragment`status in ('pending', 'sending') or (status = 'scheduled' and scheduled_at < now() + interval '10 seconds')`,
  );
}

const Sent = z.object({ to: z.string(), text: z.string() });
const taken = new Map<string, number>();
for (const lineId of lineIds) {
  const response = await fetch(`${simulatorUrl}/simulated/carrier/sent?lineId=${lineId}`);
  for (const { to, text } of z.object({ messages: z.array(Sent) }).parse(await response.json()).messages)
    taken.set(`${to} ${text}`, (taken.get(`${to} ${text}`) ?? 0) + 1);
}
const sent = await withSystem(pools, (db) =>
  db.any(sql.type(z.object({ to: z.string(), text: z.string() }))`
    select address "to", coalesce(sent_text, body) "text" from messages where status in ('sent', 'delivered')`),
);
const lost = sent.filter(({ to, text }) => !taken.has(`${to} ${text}`)).length;
const doubled = [...taken.values()].filter((times) => times > 1).length;
const deadlocks = await countDeadlocks(pools);

console.log(`${SECONDS} s; answers by status:`);
for (const [group, times] of [...statuses].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  console.log(`  ${group}: ${times}`);
console.log('the quiet tenant, in ms:');
let slowest = 0;
for (const [name, times] of quietTimes) {
  const worst = Math.max(...times);
  slowest = Math.max(slowest, worst);
  const shown = [0.5, 0.99].map((part) => quantile(times, part).toFixed(0));
  console.log(`  ${name}: p50 ${shown[0]}, p99 ${shown[1]}, max ${worst.toFixed(0)}, of ${times.length}`);
}
const failures = [...statuses].filter(([group]) => unexpected(Number(group.split(' ').at(-1))));
console.log(
  `${sent.length} messages sent, ${lost} of them not at the carrier, ${doubled} there twice, ${open} still to leave; ` +
    `${tenants.reduce((sum, { webhook }) => sum + webhook.received.length, 0)} webhook deliveries; ${deadlocks} deadlocks; ` +
    `${failures.reduce((sum, [, times]) => sum + times, 0)} operations failed`,
);
await Promise.all(tenants.map(({ webhook }) => webhook.close()));
const right = deadlocks === 0 && lost === 0 && doubled === 0 && open === 0 && slowest <= SLOWEST_MS;
console.log(right ? 'as it should be' : 'NOT as it should be');
process.exitCode = right ? 0 : 1;
await product.stop();
