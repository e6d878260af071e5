import { parseArgs } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { changeCampaignStatus } from '#db/campaign-status.ts';
import { stopContact } from '#db/campaign-stops.ts';
import {
  campaignProgress,
  type CampaignRow,
  findCampaign,
  insertCampaign,
  lockCampaign,
} from '#db/campaigns.ts';
import { insertLeads } from '#db/leads.ts';
import { insertList, lockList } from '#db/lists.ts';
import { createPools, type TenantDb, withTenant } from '#db/pool.ts';
import { dueMessages } from '#db/queue.ts';
import { CampaignInput } from '#domain/campaign.ts';
import { normalizeLead } from '#domain/lead.ts';
import { createTemporalClient, createWaker } from '#providers/temporal.ts';
import { startProcess } from '#test/support/process.ts';
import { campaignWorkflowId } from '#workflows/messages/wake.ts';
import { startServers } from './servers.ts';
import { createBenchWorkspace } from './workspace.ts';

/**
 * What a large campaign costs: entering all leads of a list (every message of every step is a row then), what
 * Temporal has to keep of it, and how long the owner's clicks take while it runs. Nothing is sent: the first step
 * is a day away.
 */
const { values: options } = parseArgs({
  options: {
    leads: { type: 'string', default: '100000' },
    steps: { type: 'string', default: '5' },
    lines: { type: 'string', default: '20' },
  },
});
const [LEADS, STEPS] = [Number(options.leads), Number(options.steps)];

const { config, stop } = await startServers();
const pools = await createPools(config.databaseUrl, { size: 4, statementTimeoutMs: 300_000 });
const { id: workspaceId, lineIds } = await createBenchWorkspace(pools, Number(options.lines));
const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> => withTenant(pools, workspaceId, work);
const temporal = createTemporalClient(config.temporal);
const waker = createWaker(temporal, pino({ level: 'error' }));

async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  console.log(`${name}: ${((performance.now() - started) / 1000).toFixed(2)} s`);
  return result;
}

const phone = (index: number): string => `+1415${String(2_000_000 + index).padStart(7, '0')}`;

async function fillList(): Promise<string> {
  const { id } = await tenant((db) => insertList(db, { name: 'Bench', description: '', userId: null }));
  for (let start = 0; start < LEADS; start += 2000) {
    const leads = Array.from({ length: Math.min(2000, LEADS - start) }, (_, index) => {
      const input = {
        firstName: `Ada${start + index}`,
        phone: phone(start + index),
        customFields: { city: 'Rome' },
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

async function campaignOf(id: string): Promise<CampaignRow> {
  const row = await tenant((db) => findCampaign(db, id));
  if (!row) throw new Error('the campaign is gone');
  return row;
}

async function act(id: string, action: 'start' | 'pause' | 'resume' | 'archive'): Promise<void> {
  const { wakes } = await tenant(async (db) =>
    changeCampaignStatus(db, (await lockCampaign(db, id)) ?? (await campaignOf(id)), action, new Date()),
  );
  for (const workflow of wakes) waker.wake(workflow, workspaceId);
}

const worker = await startProcess('workers/worker.ts', config);
const listId = await timed(`${LEADS} leads in a list`, fillList);
const steps = Array.from({ length: STEPS }, (_, index) => ({
  message: `Hi {{ firstName }}, step ${index}`,
  delay: { days: 1 },
}));
const { id } = await tenant((db) =>
  insertCampaign(db, CampaignInput.parse({ name: 'Bench', steps, listId }), null, new Date()),
);

const started = performance.now();
await act(id, 'start');
while (!(await campaignOf(id)).enteredAll) await pause(100);
const took = (performance.now() - started) / 1000;
console.log(
  `entering ${LEADS} leads, ${LEADS * STEPS} messages: ${took.toFixed(1)} s, ${Math.round((LEADS * STEPS) / took)} messages a second`,
);
await pause(500);
const history = await temporal.workflow.getHandle(campaignWorkflowId(id)).describe();
console.log(`history of its workflow: ${history.historyLength} events`);

console.log(
  JSON.stringify(
    await timed('progress', () => tenant(async (db) => campaignProgress(db, await campaignOf(id)))),
  ),
);
const inTwoDays = new Date(Date.now() + 2 * 86_400_000);
await timed(`the first 300 of a line's queue`, () =>
  tenant((db) => dueMessages(db, lineIds[0] ?? '', inTwoDays, 300)),
);
await timed('a reply stops a lead', () => tenant((db) => stopContact(db, phone(1), 'reply')));
await timed('pause', () => act(id, 'pause'));
await timed('resume', () => act(id, 'resume'));
await timed('archive', () => act(id, 'archive'));

await worker.kill();
await waker.close();
await temporal.connection.close();
await pools.close();
await stop();
