import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { changeCampaignStatus } from '../../db/commands/campaigns/campaign-status.ts';
import { stopContact } from '../../db/commands/campaigns/campaign-stops.ts';
import {
  campaignProgress,
  type CampaignRow,
  findCampaign,
  insertCampaign,
  lockCampaign,
} from '../../db/queries/campaigns/campaigns.ts';
import { funnelCounts } from '../../db/queries/campaigns/campaign-funnel.ts';
import { nextDue } from '../../db/commands/campaigns/campaign-continuation.ts';
import { insertLeads } from '../../db/queries/contacts/leads.ts';
import { insertList, lockList } from '../../db/queries/contacts/lists.ts';
import { NoRows } from '../../db/connection/rows.ts';
import { type TenantDb, withTenant } from '../../db/connection/transactions.ts';
import { wake } from '../../db/wakes/wakes.ts';
import { dueMessages, queueLanes } from '../../db/queries/sending/queue.ts';
import { CampaignInput } from '../../domain/campaigns/campaign.ts';
import { normalizeLead } from '../../domain/contacts/lead.ts';
import { createTemporalClient } from '../../providers/temporal.ts';
import { campaignWorkflowId } from '../../workflows/protocol/workflow-ids.ts';
import { actionsOf } from './support/actions.ts';
import { contactNumber } from './support/callers.ts';
import { residentMb } from './support/memory.ts';
import { LINEPACE, report } from './support/rows.ts';
import { until } from './support/waiting.ts';
import { startListener, startProduct } from './support/product.ts';
import { createBenchWorkspace, unpaced } from './support/workspace.ts';

/**
 * Runs a large campaign from start to end on durable servers while the worker is repeatedly killed with SIGKILL:
 * `npm run bench -- campaign [--leads 100000 --steps 5 --lines 100 --kills 5]`. Then counts every lead's messages in the
 * database and in the carrier's log: none may be missing or doubled.
 * With `--branches` it has twelve steps that decide, of which each lead gets four messages on one of three ways.
 * With `--enter-only` the first step is a day away, to measure how leads enter and how long changes of the campaign take; with both, all
 * leads come to the branch at once and decide there.
 */
const { values: options } = parseArgs({
  options: {
    leads: { type: 'string', default: '100000' },
    steps: { type: 'string', default: '5' },
    lines: { type: 'string', default: '100' },
    kills: { type: 'string', default: '5' },
    branches: { type: 'boolean', default: false },
    'enter-only': { type: 'boolean', default: false },
  },
});
const BRANCHES = options.branches;
const [LEADS, STEPS, LINES, KILLS] = [
  options.leads,
  BRANCHES ? '4' : options.steps,
  options.lines,
  options.kills,
].map(Number) as [number, number, number, number];
const ENTER_ONLY = options['enter-only'];
const MESSAGES = LEADS * STEPS;
const [COUNT, COUNTED] = ENTER_ONLY
  ? BRANCHES
    ? [LEADS, 'leads entered']
    : [MESSAGES, 'messages accepted']
  : [MESSAGES, 'messages sent'];
const WAYS = 3;
const REPORT_EVERY_MS = 15_000;

const product = await startProduct();
const { pools, config, simulatorUrl } = product;
const { id: workspaceId, key, lineIds } = await createBenchWorkspace(pools, LINES);
await unpaced(pools, workspaceId);
const listener = await startListener(product, key);
const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> => withTenant(pools, workspaceId, work);
const temporal = createTemporalClient(config.temporal);

const begun = performance.now();
const secondsSince = (at: number): number => (performance.now() - at) / 1000;
const say = (text: string): void => console.log(`${secondsSince(begun).toFixed(0).padStart(5)} s  ${text}`);

async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  say(`${name}: ${secondsSince(started).toFixed(2)} s`);
  return result;
}

async function fillList(): Promise<string> {
  const { id } = await tenant((db) => insertList(db, { name: 'Bench', description: '', userId: null }));
  for (let start = 0; start < LEADS; start += 2000) {
    const leads = Array.from({ length: Math.min(2000, LEADS - start) }, (_, index) => {
      const input = {
        firstName: `Ada${start + index}`,
        phone: contactNumber(start + index),
        customFields: { city: 'Rome', way: String((start + index) % WAYS) },
      };
      return normalizeLead(input, { country: 'US' }).lead;
    });
    await tenant(async (db) => {
      await lockList(db, id);
      return insertLeads(db, id, leads, { source: 'bench', now: new Date() });
    });
  }
  return id;
}

async function campaignOf(campaignId: string): Promise<CampaignRow> {
  const row = await tenant((db) => findCampaign(db, campaignId));
  if (!row) throw new Error('the campaign is gone');
  return row;
}

const progressOf = async (campaignId: string) =>
  tenant(async (db) => campaignProgress(db, await campaignOf(campaignId)));

async function act(campaignId: string, action: 'start' | 'pause' | 'resume' | 'archive'): Promise<void> {
  await tenant(async (db) =>
    changeCampaignStatus(
      db,
      (await lockCampaign(db, campaignId)) ?? (await campaignOf(campaignId)),
      action,
      new Date(),
    ),
  );
}

/** Reads the carrier's log line by line, to keep each response small. */
async function* carrierLog(): AsyncGenerator<{ to: string; text: string }> {
  for (const lineId of lineIds) {
    const response = await fetch(`${simulatorUrl}/simulated/carrier/sent?lineId=${lineId}`);
    yield* ((await response.json()) as { messages: { to: string; text: string }[] }).messages;
  }
}

let peakMb = 0;
const watch = setInterval(() => {
  try {
    peakMb = Math.max(peakMb, residentMb(product.pids.worker));
  } catch {
    // The worker was just killed.
  }
}, 1000);

const listId = await timed(`${LEADS} leads in a list`, fillList);
const message = (index: number, way = '') => ({ message: `Hi {{ firstName }},${way} step ${index}` });
const plainSteps = () =>
  Array.from({ length: STEPS }, (_, index) => ({
    ...message(index),
    ...(ENTER_ONLY && { delay: { days: 1 } }),
  }));
const decidingSteps = () => [
  ENTER_ONLY ? { kind: 'wait' as const, for: { days: 1 } } : message(0),
  {
    kind: 'branch' as const,
    branches: Array.from({ length: WAYS }, (_, way) => ({
      name: `way ${way}`,
      when: [{ field: 'customFields.way', op: 'eq' as const, value: String(way) }],
      steps: [
        { ...message(1, ` way ${way},`), ...(ENTER_ONLY && { delay: { days: 1 } }) },
        { kind: 'do' as const, setFields: { 'customFields.done': String(way) } },
        message(2, ` way ${way},`),
      ],
    })),
  },
  message(3),
];
const steps = BRANCHES ? decidingSteps() : plainSteps();
const { id } = await tenant((db) =>
  insertCampaign(db, CampaignInput.parse({ name: 'Bench', steps, listId }), null, new Date()),
);

/** Counts the messages that are entered or sent; the worker is killed as this grows. */
async function countDone(): Promise<number> {
  const { count } = await tenant((db) =>
    db.one(sql.type(z.object({ count: z.int() }))`
      select count(*) from messages where workspace_id = ${workspaceId} and campaign_id = ${id}
        and (${ENTER_ONLY} or status in ('sent', 'delivered'))`),
  );
  return count;
}

const started = performance.now();
await act(id, 'start');
let killed = 0;
let reportAt = 0;
let enteredAfter = 0;
for (;;) {
  const campaign = await campaignOf(id);
  if (campaign.enteredAll && enteredAfter === 0) {
    enteredAfter = secondsSince(started);
    say(`all ${LEADS} leads have entered after ${enteredAfter.toFixed(1)} s`);
  }
  if (ENTER_ONLY ? campaign.enteredAll : campaign.status === 'completed') break;
  const count = await countDone();
  if (performance.now() >= reportAt) {
    reportAt = performance.now() + REPORT_EVERY_MS;
    say(
      `${count} of ${MESSAGES} messages; ${JSON.stringify(await progressOf(id))}; worker ${residentMb(product.pids.worker)} MB`,
    );
  }
  if (killed < KILLS && count >= (MESSAGES * (killed + 1)) / (KILLS + 1)) {
    killed += 1;
    await product.killWorker();
    say(`worker killed for the ${killed}. time, at ${count} messages`);
    await product.startWorker();
  }
  await pause(500);
}
const took = secondsSince(started);
say(
  `${LEADS} leads, ${COUNT} ${COUNTED}, ${killed} kills: ` +
    `${took.toFixed(0)} s, ${Math.round(COUNT / took)} a second; worker at most ${peakMb} MB`,
);
await report([
  {
    work: `a campaign${BRANCHES ? ' with three branches' : ''}: ${COUNT.toLocaleString('en')} ${COUNTED}, ${KILLS} kills`,
    subject: LINEPACE,
    unit: 'a second',
    more: true,
    values: [COUNT / took],
    // 500,000 messages in 60 s, or 150 s with five kills.
    ...(ENTER_ONLY && !BRANCHES && { goal: 500_000 / (KILLS === 0 ? 60 : 150) }),
  },
]);

/** Ends the waits before the branch. */
async function decideAll(): Promise<void> {
  await tenant(async (db) => {
    await db.query(sql.type(NoRows)`
      update campaign_leads set arrived_at = arrived_at - interval '1 day', due_at = due_at - interval '1 day'
      where workspace_id = ${workspaceId} and campaign_id = ${id}`);
    wake(db, campaignWorkflowId(id), new Date(), 'progressDue');
  });
  await until(async () => (await countDone()) === LEADS, 3_600_000);
}

peakMb = 0;
if (BRANCHES && ENTER_ONLY) {
  await timed('the next that is due', () => tenant((db) => nextDue(db, id)));
  await explainDue();
  await timed(`${LEADS} leads decide`, decideAll);
  say(`worker at most ${peakMb} MB meanwhile`);
}

const stored = await tenant((db) =>
  db.one(sql.type(z.object({ messages: z.int(), distinct: z.int(), leads: z.int(), failed: z.int() }))`
    select count(*) messages, count(distinct (lead_id, step_index)) "distinct", count(distinct lead_id) leads,
      count(*) filter (where status in ('failed', 'canceled', 'fallback')) failed
    from messages where workspace_id = ${workspaceId} and campaign_id = ${id}`),
);
say(`in the database: ${JSON.stringify(stored)}`);
const EXPECTED = ENTER_ONLY && BRANCHES ? LEADS : MESSAGES;
let right = stored.messages === EXPECTED && stored.distinct === EXPECTED && stored.failed === 0;
await timed('funnel', () => tenant((db) => funnelCounts(db, id)));

if (!ENTER_ONLY) {
  const seen = new Set<string>();
  const lastStep = new Map<string, number>();
  let [taken, overtaken] = [0, 0];
  for await (const { to, text } of carrierLog()) {
    taken += 1;
    seen.add(`${to} ${text}`);
    const step = Number(text.slice(text.lastIndexOf(' ')));
    if (step < (lastStep.get(to) ?? 0)) overtaken += 1;
    lastStep.set(to, step);
  }
  say(
    `at the carrier: ${taken} taken, ${MESSAGES - seen.size} missing, ${taken - seen.size} doubled, ${overtaken} before their turn`,
  );
  right &&= seen.size === MESSAGES && taken === MESSAGES && overtaken === 0;
}

await pause(1000);
const history = await temporal.workflow.getHandle(campaignWorkflowId(id)).describe();
say(`history of the campaign's workflow: ${history.historyLength} events`);
const actions = await actionsOf(temporal);
say(`Temporal, all workflows: ${actions} actions, ${(actions / MESSAGES).toFixed(4)} a message`);

/** How the database finds the leads that are due among those that wait. */
async function explainDue(): Promise<void> {
  const ofCampaign = sql.fragment`workspace_id = ${workspaceId} and campaign_id = ${id} and state = 'running'`;
  for (const query of [
    sql.fragment`select min(due_at) from campaign_leads where ${ofCampaign} and due_at is not null`,
    sql.fragment`select lead_id from campaign_leads where ${ofCampaign} and paused_at is null and due_at <= now() order by due_at limit 200`,
    sql.fragment`select lead_id from campaign_leads where ${ofCampaign} and paused_at is null and version < 1 order by version limit 200`,
  ]) {
    const plan = await tenant((db) =>
      db.anyFirst(sql.type(z.object({ 'QUERY PLAN': z.string() }))`explain (analyze, buffers) ${query}`),
    );
    say(plan.join('\n'));
  }
}

if (ENTER_ONLY) {
  say(JSON.stringify(await timed('progress', () => progressOf(id))));
  const inTwoDays = new Date(Date.now() + 2 * 86_400_000);
  await timed(`the first 16 of a line's queue`, () =>
    tenant(async (db) => {
      const lanes = await queueLanes(db, lineIds[0] ?? '', inTwoDays);
      const open = lanes.map((lane) => ({ ...lane, since: new Date(0) }));
      return dueMessages(db, lineIds[0] ?? '', open, inTwoDays, 16);
    }),
  );
  await timed('a reply stops a lead', () =>
    tenant((db) => stopContact(db, contactNumber(1), 'reply', new Date())),
  );
  await timed('pause', () => act(id, 'pause'));
  await timed('resume', () => act(id, 'resume'));
  await timed('archive', () => act(id, 'archive'));
}

clearInterval(watch);
await temporal.connection.close();
await listener.close();
await product.stop();
process.exitCode = right ? 0 : 1;
