import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { WorkflowNotFoundError } from '@temporalio/client';
import { sql } from 'slonik';
import { z } from 'zod';
import { changeCampaignStatus } from '../../db/commands/campaigns/campaign-status.ts';
import { insertCampaign, lockCampaign } from '../../db/queries/campaigns/campaigns.ts';
import { insertLeads } from '../../db/queries/contacts/leads.ts';
import { insertList, lockList } from '../../db/queries/contacts/lists.ts';
import { systemDb, withTenant } from '../../db/connection/transactions.ts';
import { wake } from '../../db/wakes/wakes.ts';
import { CampaignInput } from '../../domain/campaigns/campaign.ts';
import { newId } from '../../domain/base/ids.ts';
import { normalizeLead } from '../../domain/contacts/lead.ts';
import { startHubSpot } from '../../simulator/hubspot.ts';
import { createTemporalClient } from '../../providers/temporal.ts';
import type { SignalName } from '../../workflows/protocol/signals.ts';
import {
  campaignWorkflowId,
  crmConnectionId,
  dripDrainerId,
  linePacerId,
  mailboxReaderId,
  ruleRunnerId,
  webhookDispatcherId,
} from '../../workflows/protocol/workflow-ids.ts';
import { billableActions } from '../../test/support/actions.ts';
import { createLine } from '../../test/support/factories.ts';
import { startMailbox } from '../../test/support/mailbox.ts';
import { heartbeatsSoFar } from './support/actions.ts';
import { startListener, startProduct } from './support/product.ts';
import { inParallel, until } from './support/waiting.ts';
import { createBenchWorkspace, unpaced } from './support/workspace.ts';

/**
 * What a message costs in Temporal: `npm run bench -- cost [--drips 1000 --paced 10 --gaps 8,20 --busy 24 --idle 60 --waiting 300
 * --held 1 --replies 10 --blocked 0]`. Prints the history events and billable actions per message of a line without a gap, of paced lines in
 * a workspace with one webhook for all events, of the webhook of a workspace with `busy` such lines, of a single message, of a
 * line that has nothing to do for `idle` seconds, of a group, and of messages posted one by one for lines that hold them (0: not); those of a rule
 * per reply that it is about; those of a
 * mailbox in which nothing arrives, of a connected CRM and of a campaign that waits for its second step, counted for `waiting` seconds and scaled
 * to a day, and of an edit of its steps; and those of a line whose carrier accepts nothing, and of one whose carrier no worker serves, in `blocked` seconds. API and
 * worker are processes of their own.
 */
const { values } = parseArgs({
  options: {
    drips: { type: 'string', default: '1000' },
    paced: { type: 'string', default: '10' },
    gaps: { type: 'string', default: '8,20' },
    busy: { type: 'string', default: '24' },
    idle: { type: 'string', default: '60' },
    waiting: { type: 'string', default: '300' },
    held: { type: 'string', default: '1' },
    replies: { type: 'string', default: '10' },
    blocked: { type: 'string', default: '0' },
  },
});
const DRIPS = Number(values.drips);
const PACED = Number(values.paced);
const GAPS = values.gaps.split(',').filter(Boolean).map(Number);
const BUSY_LINES = Number(values.busy);
const IDLE_MS = Number(values.idle) * 1000;
const WAITING_MS = Number(values.waiting) * 1000;
const DAY_MS = 86_400_000;

const REPLIES = Number(values.replies);
const BLOCKED_MS = Number(values.blocked) * 1000;
/** So slow that each message needs its own signal: faster requests would share one. */
const POST_EVERY_MS = 200;
const CAP = 2;

/** The heartbeats of the activity that takes the rounds of the worker process, by which it says that it is there. */
const OF_PROCESS_EVERY_MS = 12_000;

let numbered = 0;
const hubspot = await startHubSpot();
const product = await startProduct(1, {
  crms: {
    hubspot: { apiUrl: hubspot.url, caFile: null },
    highlevel: { apiUrl: null, caFile: null, webhookKey: null, app: null },
  },
});
const { pools, config } = product;
const db = systemDb(pools);
const temporal = createTemporalClient(config.temporal);
const run = (query: Parameters<typeof db.query>[0]) => db.query(query);

try {
  if (DRIPS > 0) await bulk();
  for (const gap of GAPS) await paced(gap);
  if (IDLE_MS > 0) await single();
  if (IDLE_MS > 0) await grouped();
  if (BUSY_LINES > 0) await busy();
  if (WAITING_MS > 0) await waiting();
  if (values.held !== '0') await held();
  if (REPLIES > 0) await ruled();
  if (BLOCKED_MS > 0)
    await Promise.all([blocked('whose device does not answer'), blocked('that no worker serves')]);
} finally {
  await temporal.connection.close();
  await product.stop();
  await hubspot.stop();
}

async function bulk(): Promise<void> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
  await unpaced(pools, id);
  await inParallel(numbers(DRIPS), 50, (to) => post('/api/drip', key, to));
  await until(async () => (await count(id, '%')) === DRIPS);
  const heartbeats = await countHeartbeats();
  await run(sql.type(z.unknown())`
    update messages set scheduled_at = now() where workspace_id = ${id} and status = 'scheduled'`);
  await wakeLine(id, lineIds[0]);
  await until(async () => (await count(id, 'delivered')) === DRIPS);
  await report(`${DRIPS} drips on a line without a gap: its pacer`, linePacerId(lineIds[0] ?? ''), {
    messages: DRIPS,
    heartbeats,
  });
  await report('  the drainer', dripDrainerId(id), { messages: DRIPS });
}

/** From the start of its pacer until it is idle. */
async function paced(gap: number): Promise<void> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
  const listener = await startListener(product, key);
  await run(sql.type(z.unknown())`
    update lines set min_gap_seconds = ${gap}, hourly_new_limit = 10000 where workspace_id = ${id}`);
  const heartbeats = await countHeartbeats();
  await send(id, lineIds[0], PACED);
  const pacer = linePacerId(lineIds[0] ?? '');
  await report(`${PACED} messages with gaps of ${gap} s ± 50 %: the pacer`, pacer, {
    messages: PACED,
    heartbeats,
  });
  const before = await events(pacer);
  const since = await countHeartbeats();
  await send(id, lineIds[0], PACED);
  const sent = await since();
  show('  as many again', (await events(pacer)).slice(before.length), { messages: PACED, heartbeats: sent });
  // The heartbeats of both are told apart by nothing; those of the dispatcher are counted with the pacer's.
  show(`  the dispatcher, ${listener.received.length} deliveries`, await events(webhookDispatcherId(id)), {
    messages: 2 * PACED,
  });
  await listener.close();
}

/** Events come for longer than a round of the process that delivers them. */
async function busy(): Promise<void> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, BUSY_LINES);
  const listener = await startListener(product, key);
  await run(sql.type(z.unknown())`
    update lines set min_gap_seconds = 8, hourly_new_limit = 10000 where workspace_id = ${id}`);
  for (const lineId of lineIds) await queue(id, lineId, PACED);
  const messages = BUSY_LINES * PACED;
  await until(async () => (await count(id, 'delivered')) === messages, 600_000);
  for (const lineId of lineIds) await rests(linePacerId(lineId));
  show(
    `${BUSY_LINES} lines, ${messages} messages: the dispatcher, ${listener.received.length} deliveries`,
    await events(webhookDispatcherId(id)),
    { messages },
  );
  await listener.close();
}

/** A mailbox in which nothing arrives, a CRM with nothing new, and a campaign whose only lead waits for its second step, which is edited. */
async function waiting(): Promise<void> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
  const mailbox = await startMailbox();
  const emailLineId = await createLine({ pools, url: config.publicUrl }, id, 'email');
  const settings = { provider: 'smtp', config: { url: product.smtpUrl, imapUrl: mailbox.url } };
  await request('PUT', `/api/lines/${emailLineId}/carrier`, key, settings);
  const crm = { provider: 'hubspot', token: hubspot.token, importExisting: false };
  const { _id: connectionId } = await request('POST', '/api/crm-connections', key, crm);
  const campaignId = await startCampaign(id);
  await until(async () => (await count(id, 'delivered')) === 1);
  const watched = {
    'a mailbox': mailboxReaderId(emailLineId),
    'a CRM': crmConnectionId(connectionId),
    'a campaign that waits': campaignWorkflowId(campaignId),
  };
  for (const workflowId of Object.values(watched)) await rests(workflowId);
  // After a send it looks again soon, once.
  const soon = (timer: number | null): boolean => timer !== null && timer * 1000 < WAITING_MS;
  await until(async () => !soon(timerOf(await events(watched['a campaign that waits']))), 600_000);
  const before = new Map<string, number>();
  for (const workflowId of Object.values(watched)) before.set(workflowId, (await events(workflowId)).length);
  const pacerBefore = (await events(linePacerId(lineIds[0] ?? ''))).length;
  await pause(WAITING_MS);
  for (const [name, workflowId] of Object.entries(watched)) {
    const all = await events(workflowId);
    const since = all.slice(before.get(workflowId));
    const actions = billableActions(since);
    console.log(
      `${name}: ${since.length} events, ${actions} actions in ${values.waiting} s; a day ${perDay(since, actions)}`,
    );
    const timer = timerOf(all);
    // A look is an activity, whose end starts the next timer: 11 events.
    if (timer !== null && timer * 1000 > WAITING_MS)
      console.log(`  by its timer of ${timer} s: a day ${((DAY_MS / 1000 / timer) * 2).toFixed(1)} actions`);
  }
  const unedited = (await events(watched['a campaign that waits'])).length;
  const { campaign } = await request('GET', `/api/campaigns/${campaignId}`, key);
  const steps = campaign.steps.map((step: object) => ({ ...step, message: 'Edited' }));
  await request('PATCH', `/api/campaigns/${campaignId}`, key, { steps });
  await until(async () => (await edited(campaignId)) === 1);
  await rests(watched['a campaign that waits']);
  show('an edit of its steps', (await events(watched['a campaign that waits'])).slice(unedited), {
    messages: 1,
  });
  const pacer = (await events(linePacerId(lineIds[0] ?? ''))).length - pacerBefore;
  console.log(`the pacer of the campaign's line meanwhile: ${pacer} events`);
  await mailbox.stop();
}

/** How many leads wait for an edited message. */
function edited(campaignId: string): Promise<number> {
  return db.oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) "count" from messages
    where campaign_id = ${campaignId} and status = 'scheduled' and body = 'Edited'`);
}

/** A group that is created, and answered. */
async function grouped(): Promise<void> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
  await unpaced(pools, id);
  const pacer = linePacerId(lineIds[0] ?? '');
  const group = { fromLineId: lineIds[0], recipients: numbers(3), message: 'Bench' };
  const { groupId } = await request('POST', '/api/conversations/groups', key, group);
  await until(async () => (await count(id, 'delivered')) === 1);
  await rests(pacer);
  const before = await events(pacer);
  show('a group that is created: the pacer, from its start', before, { messages: 1 });
  await request('POST', '/api/inbox/send-reply', key, { groupId, message: 'Bench' });
  await until(async () => (await count(id, 'delivered')) === 2);
  await rests(pacer);
  show('  a message to it', (await events(pacer)).slice(before.length), { messages: 1 });
}

/** What was counted while waiting, scaled to a day. */
function perDay({ length }: { length: number }, actions: number): string {
  const scaled = (total: number): number => Math.round((total * DAY_MS) / WAITING_MS);
  return `${scaled(length)} events, ${scaled(actions)} actions`;
}

/** For how many seconds a workflow waits by its last timer; null: it has none. */
function timerOf(list: Awaited<ReturnType<typeof events>>): number | null {
  const ended = new Set(
    list.map((event) =>
      String(
        event.timerFiredEventAttributes?.startedEventId ??
          event.timerCanceledEventAttributes?.startedEventId ??
          '',
      ),
    ),
  );
  const last = list.findLast(
    ({ eventId, timerStartedEventAttributes: timer }) => timer && !ended.has(String(eventId)),
  );
  const seconds = last?.timerStartedEventAttributes?.startToFireTimeout?.seconds;
  return seconds ? Number(seconds) : null;
}

async function startCampaign(workspaceId: string): Promise<string> {
  return withTenant(pools, workspaceId, async (db) => {
    const now = new Date();
    const { id: listId } = await insertList(db, { name: 'Bench', description: '', userId: null });
    const { lead } = normalizeLead({ firstName: 'Ada', phone: numbers(1)[0] ?? '' }, { country: 'US' });
    await lockList(db, listId);
    await insertLeads(db, listId, [lead], { source: 'bench', now });
    const steps = [{ message: 'Hello' }, { message: 'Again', delay: { days: 10 } }];
    const { id } = await insertCampaign(db, CampaignInput.parse({ name: 'Bench', steps, listId }), null, now);
    const campaign = await lockCampaign(db, id);
    if (!campaign) throw new Error('the campaign is gone');
    await changeCampaignStatus(db, campaign, 'start', now);
    return id;
  });
}

async function single(): Promise<void> {
  const { id, lineIds } = await createBenchWorkspace(pools, 1);
  const pacer = linePacerId(lineIds[0] ?? '');
  await send(id, lineIds[0], 1);
  await report('one message that starts the pacer', pacer, { messages: 1 });
  const before = await events(pacer);
  await pause(IDLE_MS);
  console.log(`idle for ${values.idle} s: ${(await events(pacer)).length - before.length} events`);
  await send(id, lineIds[0], 1);
  const after = await events(pacer);
  show('one more message', after.slice(before.length), { messages: 1 });
}

/** Messages for lines that may not send. */
async function held(): Promise<void> {
  const capped = (column: string) => async (id: string, lineId: string) => {
    await run(sql.type(z.unknown())`
      update lines set min_gap_seconds = 0, hourly_new_limit = 1000 where workspace_id = ${id}`);
    await run(sql.type(z.unknown())`
      update lines set ${sql.identifier([column])} = ${CAP} where workspace_id = ${id}`);
    await send(id, lineId, CAP);
  };
  const paused = async (id: string, lineId: string) => {
    await run(sql.type(z.unknown())`update lines set paused_at = now() where workspace_id = ${id}`);
    await wakeLine(id, lineId, 'lineChanged');
  };
  await posted('10 messages on a paused line', 10, '/api/messages', paused);
  await posted('8 messages on a line at its daily cap', 8, '/api/messages', capped('daily_total_limit'));
  await posted('8 messages on a line at its hourly cap', 8, '/api/messages', capped('hourly_new_limit'));
  await posted('40 drips on a paused line', 40, '/api/drip', paused);
}

/** A rule about replies, which come one by one, and then at once. */
async function ruled(): Promise<void> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
  await request('POST', '/api/rules', key, { name: 'Bench', on: 'reply', do: [{ addTags: ['wrote'] }] });
  const ran = () =>
    db.oneFirst(sql.type(z.object({ count: z.int() }))`
      select count(*) "count" from rule_runs where workspace_id = ${id} and ran_at is not null`);
  const write = async (from: string): Promise<void> => {
    const reply = { lineId: lineIds[0], from, text: 'Hello' };
    await request('POST', '/simulated/carrier/inbound', key, reply, product.simulatorUrl);
  };
  const runner = ruleRunnerId(id);
  const settles = async (runs: number): Promise<void> => {
    await until(async () => (await ran()) === runs);
    await rests(runner);
  };
  const contacts = numbers(2 * REPLIES);
  for (const [n, from] of contacts.slice(0, REPLIES).entries()) {
    await write(from);
    await settles(n + 1);
  }
  const before = await events(runner);
  show(`${REPLIES} replies one by one: the runner of the rules`, before, { messages: REPLIES });
  for (const from of contacts.slice(REPLIES)) await write(from);
  await settles(2 * REPLIES);
  show('  as many at once', (await events(runner)).slice(before.length), { messages: REPLIES });
}

/** What its pacer does from the first post until it rests. */
async function posted(
  name: string,
  messages: number,
  path: string,
  hold: (workspaceId: string, lineId: string) => Promise<void>,
): Promise<void> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
  const [lineId = ''] = lineIds;
  await hold(id, lineId);
  await rests(linePacerId(lineId));
  const before = await events(linePacerId(lineId));
  const queued = await count(id, '%');
  for (const to of numbers(messages)) {
    await post(path, key, to);
    await pause(POST_EVERY_MS);
  }
  await until(async () => (await count(id, '%')) === queued + messages);
  await pause(1000);
  await rests(linePacerId(lineId));
  show(name, (await events(linePacerId(lineId))).slice(before.length), { messages });
}

async function blocked(carrier: 'whose device does not answer' | 'that no worker serves'): Promise<void> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
  const [lineId = ''] = lineIds;
  await run(sql.type(z.unknown())`
    update lines set min_gap_seconds = 1, hourly_new_limit = 1000 where workspace_id = ${id}`);
  if (carrier === 'that no worker serves')
    await run(sql.type(z.unknown())`update lines set carrier = 'unserved' where workspace_id = ${id}`);
  else
    await fetch(`${product.simulatorUrl}/simulated/carrier/lines/${lineId}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ down: true }),
    });
  for (const to of numbers(6)) await post('/api/messages', key, to);
  const sent = await countHeartbeats();
  await pause(BLOCKED_MS);
  const heartbeats = await sent();
  show(`a line with a carrier ${carrier}, ${values.blocked} s`, await events(linePacerId(lineId)), {
    messages: 1,
    heartbeats,
  });
}

async function post(path: string, key: string, recipientPhone: string): Promise<void> {
  await request('POST', path, key, { message: 'Bench', recipientPhone });
}

async function request(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH',
  path: string,
  key: string,
  body: object | null = null,
  origin = config.publicUrl,
) {
  const answer = await fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
  return text === '' ? null : JSON.parse(text);
}

/** Queues messages that are due and waits until they are delivered and the pacer has said that nothing is left. */
async function send(workspaceId: string, lineId: string | undefined, messages: number): Promise<void> {
  const sent = await count(workspaceId, 'delivered');
  await queue(workspaceId, lineId, messages);
  await until(async () => (await count(workspaceId, 'delivered')) === sent + messages, 600_000);
  await rests(linePacerId(lineId ?? ''));
}

/** Queues messages that are due. */
async function queue(workspaceId: string, lineId: string | undefined, messages: number): Promise<void> {
  const rows = numbers(messages).map((to) => [newId(), to]);
  await run(sql.type(z.unknown())`
    insert into messages (workspace_id, id, line_id, address, recipient_phone, channel, status, body, scheduled_at, source)
    select ${workspaceId}, id, ${lineId ?? ''}, address, address, 'imessage', 'pending', 'Bench', now(), 'api'
    from ${sql.unnest(rows, ['text', 'text'])} as t (id, address)`);
  await wakeLine(workspaceId, lineId);
}

async function wakeLine(workspaceId: string, lineId = '', signal: SignalName = 'messagesDue'): Promise<void> {
  await withTenant(pools, workspaceId, async (tenant) =>
    wake(tenant, linePacerId(lineId), new Date(), signal),
  );
}

/** The last message is delivered before its pacer has said that nothing is left. */
async function rests(workflowId: string): Promise<void> {
  await until(async () => {
    const found = await temporal.workflow.getHandle(workflowId).describe().catch(ifNotStarted);
    return (
      found !== null && (found.raw.pendingActivities?.length ?? 0) === 0 && !found.raw.pendingWorkflowTask
    );
  });
}

function ifNotStarted(error: unknown): null {
  if (error instanceof WorkflowNotFoundError) return null;
  throw error;
}

function count(workspaceId: string, status: string): Promise<number> {
  return db.oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) "count" from messages where workspace_id = ${workspaceId} and status like ${status}`);
}

/** All runs of a workflow: it continues as new. */
async function events(workflowId: string) {
  const all = [];
  for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    const { events: some } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    all.push(...(some ?? []));
  }
  return all;
}

interface Measured {
  messages: number;
  heartbeats?: () => Promise<number>;
}

/** @returns the number of heartbeats since this call, without those of the worker process. */
async function countHeartbeats(): Promise<() => Promise<number>> {
  const before = await heartbeatsSoFar(product.temporalMetrics);
  const at = performance.now();
  return async () => {
    const all = (await heartbeatsSoFar(product.temporalMetrics)) - before;
    return Math.max(0, all - Math.round((performance.now() - at) / OF_PROCESS_EVERY_MS));
  };
}

async function report(name: string, workflowId: string, { messages, heartbeats }: Measured): Promise<void> {
  const sent = heartbeats === undefined ? 0 : await heartbeats();
  show(name, await events(workflowId), { messages, heartbeats: sent });
}

function show(
  name: string,
  list: Awaited<ReturnType<typeof events>>,
  { messages, heartbeats = 0 }: { messages: number; heartbeats?: number },
): void {
  const actions = billableActions(list) + heartbeats;
  const per = (total: number): string => (total / messages).toFixed(2);
  console.log(
    `${name}: ${list.length} events, ${actions} actions (${heartbeats} heartbeats); per message ${per(list.length)} events, ${per(actions)} actions`,
  );
}

/** Numbers whose last four digits select no special behavior of the simulated carrier. */
function numbers(n: number): string[] {
  return Array.from({ length: n }, () => `+1212${2_001_000 + numbered++}`);
}
