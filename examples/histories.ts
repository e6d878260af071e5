import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { UpdateDefinition } from '@temporalio/common';
import type { Demo } from '#standalone/demo-data.ts';
import { updateWorkflow } from '#providers/temporal.ts';
import {
  decide,
  type DraftOrder,
  type Order,
  pauseLine,
  resumeCampaign,
  resumeLine,
} from '#workflows/protocol/updates.ts';
import {
  aiDraftId,
  campaignWorkflowId,
  linePacerId,
  lineRequestId,
} from '#workflows/protocol/workflow-ids.ts';
import { historyText, type Shown } from './support/history-text.ts';
import { takeScreenshot } from './support/screenshot.ts';

/**
 * Plays the scenarios in a running product (`npm start`) and prints their workflow histories. docs/histories.md explains
 * them. `CHROMIUM=/usr/bin/chromium npm run example -- histories` also takes the screenshots of that page.
 */

/** Lines are requested until the plan does not include another one. */
const MAX_LINES = 50;
const TIMEOUT_MS = 120_000;
/** Without the pacer, because the page of a running workflow never stops loading. */
const SCREENSHOTS = ['line-request-paid', 'draft-approve-by-operator'];

const chromium = process.env['CHROMIUM'];
const file = path.join(process.env['DATA_DIR'] ?? '.data', 'demo.json');
const demo = JSON.parse(await readFile(file, 'utf8')) as Demo;
const connection = await Connection.connect({ address: demo.temporalAddress });
const client = new Client({ connection });
/** Three digits in the numbers of contacts, so that each run has its own. */
const run = String(100 + (Math.floor(Date.now() / 1000) % 900));
const [lineId = ''] = demo.lineIds;

try {
  // Repeated runs would reach the caps.
  await api('PATCH', `/api/lines/${lineId}`, {
    dailyNewConversationsLimit: 1000,
    hourlyNewConversationsLimit: 1000,
  });
  await lineRequests();
  await drafts();
  await signaledDraft();
  await campaign();
  await waitingCampaign();
  await pacer();
} finally {
  await connection.close();
}

async function lineRequests(): Promise<void> {
  const paid = await requestToPay();
  const seen = await shows(lineRequestId(paid.id), 'awaiting_payment');
  await fetch(paid.paymentUrl, { method: 'POST' });
  await eventually(async () => (await statusOf(paid.id)) === 'active');
  await print('line-request-paid', lineRequestId(paid.id), [seen]);

  const canceled = await requestToPay();
  const waits = await shows(lineRequestId(canceled.id), 'awaiting_payment');
  await api('POST', `/api/line-requests/${canceled.id}`, { action: 'cancel' });
  await print('line-request-canceled', lineRequestId(canceled.id), [waits]);
}

async function requestToPay(): Promise<{ id: string; paymentUrl: string }> {
  for (let count = 0; count < MAX_LINES; count += 1) {
    const { line, paymentUrl } = await api('POST', '/api/line-requests', {
      firstName: 'Ada',
      lastName: 'Byron',
    });
    if (paymentUrl) return { id: line._id, paymentUrl };
    await eventually(async () => (await statusOf(line._id)) === 'active');
  }
  throw new Error(`the plan includes more than ${MAX_LINES} lines`);
}

async function statusOf(id: string): Promise<string> {
  return (await api('GET', `/api/line-requests/${id}`)).status;
}

async function drafts(): Promise<void> {
  await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 5 });
  const actions = ['approve', 'reject', 'mark_sent'] as const;
  for (const [number, action] of actions.entries()) {
    const byApi = await draft(`+1415555${run}${number}`);
    await api('POST', '/api/knowledge-base/auto-replies', { replyId: byApi.replyId, action });
    await print(`draft-${action}-by-api`, aiDraftId(byApi.replyId), byApi.seen);

    const byUpdate = await draft(`+1415556${run}${number}`);
    const order: DraftOrder = { by: 'Dana', reason: 'the team asked for it', action };
    await ask(aiDraftId(byUpdate.replyId), decide, order);
    await print(`draft-${action}-by-operator`, aiDraftId(byUpdate.replyId), byUpdate.seen);
  }
}

async function draft(from: string): Promise<{ replyId: string; seen: Shown[] }> {
  await api('POST', '/simulated/carrier/inbound', { lineId, from, text: 'Is it still free?' });
  const { messageId: replyId } = await eventually(async () =>
    (await api('GET', '/api/replies?limit=200')).replies.find(
      ({ recipientPhone }: { recipientPhone: string }) => recipientPhone === from,
    ),
  );
  const waiting = await shows(aiDraftId(replyId), 'waiting');
  return { replyId, seen: [waiting, await shows(aiDraftId(replyId), 'drafted')] };
}

/** An operator sends the signal from the Temporal UI. */
async function signaledDraft(): Promise<void> {
  const { replyId, seen } = await draft(`+1415554${run}1`);
  const order = { by: 'Dana', reason: 'the team asked for it' };
  await client.workflow.getHandle(aiDraftId(replyId)).signal('approve', order);
  await print('draft-approve-by-signal', aiDraftId(replyId), seen);
}

/** A campaign whose only line is paused. */
async function waitingCampaign(): Promise<void> {
  await ask(linePacerId(lineId), pauseLine, { by: 'Dana', reason: 'a review' });
  const listId = (await api('POST', '/api/lists', { name: `Waiting ${run}` })).list._id;
  const leads = [1, 2, 3].map((number) => ({ firstName: 'Ada', phone: `+1415553${run}${number}` }));
  await api('POST', '/api/leads', { listId, leads });
  const steps = [{ message: 'Hello {{ firstName }}' }];
  const body = { name: 'Waiting', listId, steps, eligibleLineIds: [lineId], start: true };
  const id = (await api('POST', '/api/campaigns', body)).campaign._id;
  const seen = [await shows(campaignWorkflowId(id), 'active')];
  await client.workflow.getHandle(campaignWorkflowId(id)).signal('archived', { by: 'Dana' });
  await print('campaign-waiting', campaignWorkflowId(id), seen);
  await ask(linePacerId(lineId), resumeLine, { by: 'Dana', reason: 'the review is over' });
}

async function campaign(): Promise<void> {
  const listId = (await api('POST', '/api/lists', { name: `Histories ${run}` })).list._id;
  const leads = [1, 2, 3].map((number) => ({ firstName: 'Ada', phone: `+1415557${run}${number}` }));
  await api('POST', '/api/leads', { listId, leads });
  const steps = [{ message: 'Hello {{ firstName }}' }];
  // With one line, the gap between messages keeps the campaign active.
  const body = { name: 'Spring', listId, steps, eligibleLineIds: [lineId], start: true };
  const id = (await api('POST', '/api/campaigns', body)).campaign._id;
  const workflowId = campaignWorkflowId(id);
  const seen = [await shows(workflowId, 'active')];
  await api('POST', `/api/campaigns/${id}/pause`);
  seen.push(await shows(workflowId, 'paused'));
  await ask(workflowId, resumeCampaign, { by: 'Dana', reason: 'the offer is correct now' });
  seen.push(await shows(workflowId, 'active'));
  await print('campaign-paused', workflowId, seen);
}

async function pacer(): Promise<void> {
  const workflowId = linePacerId(lineId);
  await shows(workflowId, 'idle');
  // The update starts a new run.
  await client.workflow.getHandle(workflowId).terminate('a new history');
  await ask(workflowId, pauseLine, { by: 'Dana', reason: 'the carrier asked for it' });
  const seen = [await shows(workflowId, 'paused')];
  for (const number of [1, 2]) {
    const recipientPhone = `+1415558${run}${number}`;
    await api('POST', '/api/messages', { message: 'Hello', fromLineId: lineId, recipientPhone });
  }
  await ask(workflowId, resumeLine, { by: 'Dana', reason: 'the carrier agreed' });
  seen.push(await shows(workflowId, 'idle'));
  await print('line-pacer-paused', workflowId, seen);
}

async function print(name: string, workflowId: string, seen: readonly Shown[]): Promise<void> {
  const handle = client.workflow.getHandle(workflowId);
  const isOver = async () => (await handle.describe()).status.name !== 'RUNNING';
  if (!workflowId.startsWith('line-pacer:')) await eventually(isOver);
  const { runId } = await handle.describe();
  const { events = [] } = await handle.fetchHistory();
  console.log(`\n## ${name}: ${workflowId}, ${events?.length} events\n\n${historyText(events ?? [], seen)}`);
  const page = `${demo.temporalUiUrl}/namespaces/default/workflows/${workflowId}/${runId}/history`;
  if (chromium !== undefined && SCREENSHOTS.includes(name))
    takeScreenshot(chromium, page, `docs/images/${name}.png`, {
      width: 1280,
      height: 905,
      // Waits for the data that the page loads.
      flags: ['--virtual-time-budget=20000'],
    });
}

/** Waits for a state. @returns the workflow's current details. */
async function shows(workflowId: string, state: string): Promise<Shown> {
  await eventually(async () => (await query<{ state: string }>(workflowId, 'status')).state === state);
  return eventually(async () => {
    const { currentDetails = '' } = await query<{ currentDetails?: string }>(
      workflowId,
      '__temporal_workflow_metadata',
    );
    return !currentDetails.startsWith('Working') && { at: new Date(), details: currentDetails };
  });
}

async function query<T>(workflowId: string, name: string): Promise<T> {
  return client.workflow.getHandle(workflowId).query<T>(name);
}

function ask<Verdict, O extends Order>(
  workflowId: string,
  update: UpdateDefinition<Verdict, [O]>,
  order: O,
): Promise<Verdict> {
  return updateWorkflow(client, { workflowId, workspaceId: demo.workspaceId }, update, order);
}

async function eventually<T>(poll: () => Promise<T | false | undefined>): Promise<T> {
  let cause: unknown;
  for (const end = Date.now() + TIMEOUT_MS; Date.now() < end; await pause(1000)) {
    try {
      const found = await poll();
      if (found) return found;
    } catch (error) {
      cause = error;
    }
  }
  throw new Error(`not within ${TIMEOUT_MS / 1000} s`, { cause });
}

// oxlint-disable-next-line no-explicit-any
async function api(method: string, route: string, body?: unknown): Promise<any> {
  const response = await fetch(demo.baseUrl + route, {
    method,
    headers: { authorization: `Bearer ${demo.workspaceKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok)
    throw new Error(`${method} ${route} failed with ${response.status}: ${await response.text()}`);
  return response.json();
}
