import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { withSystem } from '../../db/connection/transactions.ts';
import { newApiKey } from '../../domain/accounts/api-key.ts';
import { newAgencyId, newId, newUserId } from '../../domain/base/ids.ts';
import { type Caller, callerOf, contactNumber, reply, startCampaign } from './support/callers.ts';
import { countDeadlocks, startListener, startProduct } from './support/product.ts';
import { quantile } from './support/webhook-load.ts';
import { createBenchWorkspace, unpaced } from './support/workspace.ts';

/**
 * Makes many operations compete for the same rows: `npm run bench -- contention [--seconds 300]`. An agency's two workspaces
 * run campaigns of three steps with a webhook for all events, while their contacts reply and send STOP, users reply and
 * cancel messages, lines are switched off and on and move back and forth between the two, and addresses are checked. One
 * of the two does so as fast as the API allows, with 48 open requests at any time. A quiet tenant does a little of each.
 *
 * It passes if PostgreSQL finds no deadlock, requests fail with 429 or 503 only, the quiet tenant gets neither and waits
 * at most two seconds, and the carrier's log contains what the database says was sent, once.
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
  call: Caller;
  lineIds: string[];
  webhook: Awaited<ReturnType<typeof startListener>>;
}

async function createTenant(): Promise<Tenant> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, LINES);
  await unpaced(pools, id);
  const call = callerOf(config, key);
  // Otherwise lines rest after so many opt-outs, and campaigns wait while members answer.
  await call('PATCH', '/api/workspace', { reputationPolicy: 'observe', contactBusy: false });
  return { id, lineIds, call, webhook: await startListener(product, key) };
}

/** Creates an agency that owns these workspaces. @returns its key. */
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
const newContact = (): string => contactNumber(contacts++);
const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)] as T;

/** Responses by tenant, operation and status. */
const statuses = new Map<string, number>();
/** Statuses that ask to retry later. */
const RETRY_LATER = [429, 503];
let failures = 0;
const quietTimes = new Map<string, number[]>();
/** When the operations end. */
let end = 0;

/**
 * Repeats an operation until the time is over.
 * @param operation returns null if there was nothing to do.
 */
async function repeat(
  name: string,
  everyMs: number,
  operation: () => Promise<{ status: number } | null>,
  { isQuiet = false } = {},
): Promise<void> {
  while (performance.now() < end) {
    const started = performance.now();
    const answer = await operation();
    const took = performance.now() - started;
    if (answer) {
      const { status } = answer;
      const group = `${isQuiet ? 'quiet' : 'busy'} ${name} ${status}`;
      statuses.set(group, (statuses.get(group) ?? 0) + 1);
      if (RETRY_LATER.includes(status) ? isQuiet : status >= 500) failures += 1;
      if (isQuiet) quietTimes.set(name, [...(quietTimes.get(name) ?? []), took]);
    }
    await pause(Math.max(0, everyMs * (0.5 + Math.random()) - took));
  }
}

/** The operations of one tenant. @param pace milliseconds between two of one kind. */
function operations(
  { call, lineIds }: Tenant,
  numbers: string[],
  campaignId: string,
  { pace, isQuiet = false }: { pace: number; isQuiet?: boolean },
): Promise<void>[] {
  const waiting: string[] = [];
  const write = async (text: string) => ({ status: await reply(config, pick(lineIds), pick(numbers), text) });
  const kinds: [name: string, pause: number, operation: () => Promise<{ status: number } | null>][] = [
    [
      'send',
      1,
      async () => {
        const answer = await call('POST', '/api/messages', {
          recipientPhone: Math.random() < 0.5 ? pick(numbers) : newContact(),
          message: `Once ${newId()}`,
          scheduledDate: new Date(Date.now() + (Math.random() < 0.5 ? 0 : 3_600_000)).toISOString(),
        });
        if (answer.status === 201) waiting.push(answer.body._id as string);
        return answer;
      },
    ],
    [
      'cancel',
      1,
      async () => {
        const id = waiting.splice(Math.floor(Math.random() * waiting.length), 1)[0];
        return id === undefined ? null : call('POST', `/api/messages/${id}/cancel`);
      },
    ],
    ['reply', 1, () => write('Tell me more')],
    ['STOP', 4, () => write('STOP')],
    [
      'answer',
      4,
      () => call('POST', '/api/inbox/send-reply', { phone: pick(numbers), message: `Answer ${newId()}` }),
    ],
    ['opt-out', 4, () => call('POST', '/api/opt-outs', { address: pick(numbers) })],
    [
      'change line',
      2,
      () =>
        call('PATCH', `/api/lines/${pick(lineIds)}`, {
          dailyTotalMessagesLimit: 9000 + Math.floor(Math.random() * 1000),
          ...(Math.random() < 0.3 && { isActive: Math.random() < 0.7 }),
        }),
    ],
    ['availability', 1, () => call('POST', '/api/leads/check-availability', { address: newContact() })],
    [
      'add lead',
      1,
      () => call('POST', `/api/campaigns/${campaignId}/leads`, { lead: { phone: newContact() } }),
    ],
    [
      'pause, resume',
      8,
      async () => {
        await call('POST', `/api/campaigns/${campaignId}/pause`);
        return call('POST', `/api/campaigns/${campaignId}/resume`);
      },
    ],
    ['read', 1, () => call('GET', '/api/messages?limit=20')],
  ];
  return kinds.map(([name, factor, operation]) => repeat(name, pace * factor, operation, { isQuiet }));
}

const [busy, other, quiet] = [await createTenant(), await createTenant(), await createTenant()];
const tenants = [busy, other, quiet];
const agency = callerOf(config, await createAgency([busy, other]));
const numbers = [LEADS, LEADS, 20].map((leads) => Array.from({ length: leads }, newContact));
const campaigns = await Promise.all(
  tenants.map(({ call }, index) =>
    startCampaign(call, { steps: 3, contacts: numbers[index] ?? [], stopOnReply: true }),
  ),
);
const operationsOf = (index: number, pace: { pace: number; isQuiet?: boolean }): Promise<void>[] =>
  operations(tenants[index] as Tenant, numbers[index] ?? [], campaigns[index] ?? '', pace);
const move = (lineId: string, { id: targetWorkspaceId }: Tenant) =>
  agency('POST', '/api/agency/lines', { action: 'transfer', lineId, targetWorkspaceId });
const moveAny = () => move(pick([...busy.lineIds, ...other.lineIds]), pick([busy, other]));

end = performance.now() + SECONDS * 1000;
await Promise.all([
  ...Array.from({ length: 4 }, () => operationsOf(0, { pace: 20 })).flat(),
  ...operationsOf(1, { pace: 100 }),
  ...operationsOf(2, { pace: 1200, isQuiet: true }),
  repeat('move line', 300, moveAny),
  repeat('move line', 300, moveAny),
]);

// Now all messages are sent: every line may send, and each workspace has some.
for (const tenant of [busy, other])
  for (const lineId of tenant.lineIds) await moveWithRetries(lineId, tenant);
await withSystem(pools, (db) => db.query(sql.type(z.unknown())`update lines set is_active = true`));
for (const { call, lineIds } of tenants)
  for (const lineId of lineIds) await call('PATCH', `/api/lines/${lineId}`, { isActive: true });
for (const [index, { call }] of tenants.entries())
  await call('POST', `/api/campaigns/${campaigns[index]}/resume`);

/** Moves a line, with retries. */
async function moveWithRetries(lineId: string, to: Tenant): Promise<void> {
  while ((await move(lineId, to)).status !== 200) await pause(500);
}

const count = (condition: ReturnType<typeof sql.fragment>): Promise<number> =>
  withSystem(pools, (db) =>
    db.oneFirst(
      sql.type(z.object({ count: z.int() }))`select count(*) "count" from messages where ${condition}`,
    ),
  );
const LEAVING = sql.fragment`
  (status in ('pending', 'sending') or (status = 'scheduled' and scheduled_at < now() + interval '10 seconds'))`;
const drainedBy = performance.now() + 300_000;
let open = Infinity;
while (open > 0 && performance.now() < drainedBy) {
  await pause(2000);
  open = await count(LEAVING);
}
// What the API says that they wait for.
const reasons = new Map<string, number>();
if (open > 0)
  for (const { id, call } of tenants) {
    const left = await withSystem(pools, (db) =>
      db.anyFirst(sql.type(z.object({ id: z.string() }))`
        select id from messages where workspace_id = ${id} and ${LEAVING} limit 100`),
    );
    for (const messageId of left) {
      const { body } = await call('GET', `/api/messages/${messageId}/timeline`);
      const { status, waitingFor } = z
        .looseObject({ status: z.string(), waitingFor: z.looseObject({ reason: z.string() }).nullable() })
        .parse(body);
      const reason = `${status}: ${waitingFor?.reason ?? 'nothing'}`;
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
  }

const Sent = z.object({ to: z.string(), text: z.string() });
const taken = new Map<string, number>();
for (const lineId of tenants.flatMap((tenant) => tenant.lineIds)) {
  const response = await fetch(`${simulatorUrl}/simulated/carrier/sent?lineId=${lineId}`);
  for (const { to, text } of z.object({ messages: z.array(Sent) }).parse(await response.json()).messages)
    taken.set(`${to} ${text}`, (taken.get(`${to} ${text}`) ?? 0) + 1);
}
const sent = await withSystem(pools, (db) =>
  db.any(sql.type(Sent)`
    select address "to", coalesce(sent_text, body) "text" from messages where status in ('sent', 'delivered')`),
);
const lost = sent.filter(({ to, text }) => !taken.has(`${to} ${text}`)).length;
const unknown = [...taken.values()].reduce((sum, times) => sum + times, 0) - (sent.length - lost);
const deadlocks = await countDeadlocks(pools);

console.log(`${SECONDS} s; answers by status:`);
for (const [group, times] of [...statuses].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  console.log(`  ${group}: ${times}`);
console.log('the quiet tenant, in ms:');
for (const [name, times] of quietTimes) {
  const [p50, p99] = [0.5, 0.99].map((part) => quantile(times, part).toFixed(0));
  console.log(`  ${name}: p50 ${p50}, p99 ${p99}, max ${Math.max(...times).toFixed(0)}, of ${times.length}`);
}
const allTimes = [...quietTimes.values()].flat();
const slowest = Math.max(...allTimes);
const [p50, p90, p99] = [0.5, 0.9, 0.99].map((part) => quantile(allTimes, part).toFixed(0));
console.log(`  all: p50 ${p50}, p90 ${p90}, p99 ${p99}, max ${slowest.toFixed(0)}, of ${allTimes.length}`);
console.log(
  `${sent.length} messages sent, ${lost} of them not at the carrier, ${unknown} there that the database does not know of, ` +
    `${open} still to leave; ${tenants.reduce((sum, { webhook }) => sum + webhook.received.length, 0)} webhook ` +
    `deliveries; ${deadlocks} deadlocks; ${failures} operations failed`,
);
for (const [reason, times] of reasons) console.log(`  ${reason}: ${times}`);
await Promise.all(tenants.map(({ webhook }) => webhook.close()));
const right =
  [deadlocks, failures, lost, unknown, open].every((found) => found === 0) && slowest <= SLOWEST_MS;
console.log(right ? 'as it should be' : 'NOT as it should be');
process.exitCode = right ? 0 : 1;
await product.stop();
