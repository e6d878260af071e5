import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { withTenant } from '../../db/connection/transactions.ts';
import { callerOf, contactNumber, reply, startCampaign } from './support/callers.ts';
import { startListener, startProduct } from './support/product.ts';
import { createBenchWorkspace, unpaced } from './support/workspace.ts';

/**
 * Makes replies race the next step of a campaign: `npm run bench -- replies [--races 1000]`. Each lead's steps follow one
 * another without a delay, and its reply arrives at a random moment. Once the carrier's callback has its response, the
 * reply is stored: any step that the carrier accepts later must have been claimed before. Checked with the carrier's log
 * and the claims, which are recorded before the carrier is called.
 */
const { values: options } = parseArgs({ options: { races: { type: 'string', default: '1000' } } });
const RACES = Number(options.races);
const STEPS = 20;
const LINES = 10;
/** Leads that run at the same time. */
const WAVE = 50;

const product = await startProduct();
const { pools, config, simulatorUrl } = product;
const workspace = await createBenchWorkspace(pools, LINES);
await unpaced(pools, workspace.id);
const listener = await startListener(product, workspace.key);

const api = callerOf(config, workspace.key);
/** Callbacks that failed and were repeated. */
let repeated = 0;

/** Repeats a reply until it is accepted, as carriers do. */
async function replyFor(lineId: string, from: string): Promise<void> {
  while ((await reply(config, lineId, from, 'No')) !== 200) repeated += 1;
}

async function addLead(campaignId: string, phone: string): Promise<void> {
  const { status, headers } = await api('POST', `/api/campaigns/${campaignId}/leads`, { lead: { phone } });
  if (status === 201) return;
  if (status !== 429) throw new Error(`a lead was refused with ${status}`);
  await pause(1000 * Number(headers.get('retry-after') ?? 1));
  await addLead(campaignId, phone);
}

const sentTo = async (to: string) => {
  const response = await fetch(`${simulatorUrl}/simulated/carrier/sent?to=${encodeURIComponent(to)}`);
  return ((await response.json()) as { messages: { lineId: string; acceptedAt: string }[] }).messages;
};

interface Race {
  to: string;
  /** When the response to the carrier's callback arrived, by which time the reply is stored. */
  storedBy: number;
}

async function race(campaignId: string, index: number): Promise<Race> {
  const to = contactNumber(index);
  await addLead(campaignId, to);
  let first = await sentTo(to);
  for (; first.length === 0; first = await sentTo(to)) await pause(20);
  await pause(Math.random() * 400);
  await replyFor(first[0]?.lineId ?? '', to);
  return { to, storedBy: Date.now() };
}

const campaignId = await startCampaign(api, { steps: STEPS });
const races: Race[] = [];
for (let start = 0; start < RACES; start += WAVE) {
  const wave = Array.from({ length: Math.min(WAVE, RACES - start) }, (_, index) =>
    race(campaignId, start + index),
  );
  races.push(...(await Promise.all(wave)));
  console.log(`${races.length} of ${RACES} races, ${repeated} callbacks repeated`);
}
// By now the attempts in flight at the time of the reply have finished, and no more are claimed.
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
  // At most one step was at the carrier, none was claimed later, and every claim is in the log.
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
