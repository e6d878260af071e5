import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { withTenant } from '#db/transactions.ts';
import { newId } from '#domain/ids.ts';
import { callbackKey } from '#providers/carriers/simulated-protocol.ts';
import { startListener, startProduct } from './product.ts';
import { createBenchWorkspace, unpaced } from './workspace.ts';

/**
 * Replies that race the next step: `npm run bench:replies [-- --races 1000]`. Each lead's steps follow one another
 * without a pause, and its reply comes at a random moment among them. When the carrier's callback is answered the
 * reply is stored: what the carrier accepts after that must have been claimed before it, and no lead may get a step
 * whose claim is later. Judged by the carrier's log and the claims, which are on record before the carrier is called.
 */
const { values: options } = parseArgs({ options: { races: { type: 'string', default: '1000' } } });
const RACES = Number(options.races);
const STEPS = 20;
const LINES = 10;
/** Leads under way at once. */
const WAVE = 50;

const product = await startProduct();
const { pools, config, simulatorUrl } = product;
const workspace = await createBenchWorkspace(pools, LINES);
await unpaced(pools, workspace.id);
const listener = await startListener(product, workspace.key);

async function call<T>(path: string, body: unknown): Promise<T> {
  const response = await fetch(`${config.publicUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status === 429) {
    await pause(1000 * Number(response.headers.get('retry-after') ?? 1));
    return call(path, body);
  }
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Callbacks that were answered with an error, and repeated. */
let repeated = 0;

async function reply(lineId: string, from: string): Promise<void> {
  const id = newId();
  const at = new Date();
  const event = {
    kind: 'reply',
    eventId: id,
    at,
    carrierMessageId: id,
    from,
    text: 'No',
    attachments: [],
    autoReply: false,
  };
  const body = JSON.stringify({ lineId, events: [event] });
  // Repeated until it is taken, as carriers do.
  for (;;) {
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
    if (response.ok) return;
    repeated += 1;
  }
}

const sentTo = async (to: string) => {
  const response = await fetch(`${simulatorUrl}/simulated/carrier/sent?to=${encodeURIComponent(to)}`);
  return ((await response.json()) as { messages: { lineId: string; acceptedAt: string }[] }).messages;
};

const phone = (index: number): string =>
  `+1415${2_000_000 + Math.floor(index / 9000) * 10_000 + 1000 + (index % 9000)}`;

interface Race {
  to: string;
  /** When the carrier's callback was answered: the reply is stored by then. */
  storedBy: number;
}

async function race(campaignId: string, index: number): Promise<Race> {
  const to = phone(index);
  await call(`/api/campaigns/${campaignId}/leads`, { lead: { phone: to } });
  let first = await sentTo(to);
  for (; first.length === 0; first = await sentTo(to)) await pause(20);
  await pause(Math.random() * 400);
  await reply(first[0]?.lineId ?? '', to);
  return { to, storedBy: Date.now() };
}

const steps = Array.from({ length: STEPS }, (_, index) => ({ message: `Step ${index}` }));
const { campaign } = await call<{ campaign: { _id: string } }>('/api/campaigns', {
  name: 'Races',
  steps,
  start: true,
});
const races: Race[] = [];
for (let start = 0; start < RACES; start += WAVE) {
  const wave = Array.from({ length: Math.min(WAVE, RACES - start) }, (_, index) =>
    race(campaign._id, start + index),
  );
  races.push(...(await Promise.all(wave)));
  console.log(`${races.length} of ${RACES} races, ${repeated} callbacks repeated`);
}
// What was with the carrier when its lead replied is answered by now, and nothing more is claimed.
await pause(5000);

const Attempt = z.object({ address: z.string(), startedAt: z.date() });
const attempts = await withTenant(pools, workspace.id, (db) =>
  db.any(sql.type(Attempt)`
    select address, started_at from attempts where workspace_id = ${workspace.id}`),
);
const claimedOf = Map.groupBy(attempts, ({ address }) => address);
let [sent, cut, atCarrier, broken] = [0, 0, 0, 0];
for (const { to, storedBy } of races) {
  const log = await sentTo(to);
  const claims = claimedOf.get(to) ?? [];
  const late = log.filter(({ acceptedAt }) => Date.parse(acceptedAt) > storedBy).length;
  const lateClaims = claims.filter(({ startedAt }) => startedAt.getTime() > storedBy).length;
  sent += log.length;
  if (log.length < STEPS) cut += 1;
  if (late > 0) atCarrier += 1;
  // One at most was with the carrier already, and none was claimed after; all that was claimed is in the log.
  if (late > 1 || lateClaims > 0 || claims.length !== log.length) {
    broken += 1;
    console.log(
      `${to}: ${late} accepted and ${lateClaims} claimed after its reply, ${claims.length} claims, ${log.length} sent`,
    );
  }
}
console.log(
  `${RACES} races, ${sent} steps sent; ${cut} leads stopped before their last step, ${atCarrier} with a step at the ` +
    `carrier at that moment; ${broken} with a step that was claimed after the reply was stored`,
);
const { open } = await withTenant(pools, workspace.id, (db) =>
  db.one(sql.type(z.object({ open: z.int() }))`
    select count(*) "open" from messages where workspace_id = ${workspace.id} and status in ('pending', 'scheduled', 'sending')`),
);
console.log(`${open} messages still to be sent`);

await listener.close();
await product.stop();
process.exitCode = broken === 0 && open === 0 ? 0 : 1;
