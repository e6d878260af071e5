import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb } from '../../db/connection/transactions.ts';
import { createTemporalClient } from '../../providers/temporal.ts';
import { apiClient } from '../../test/support/client.ts';
import { callBack, replyEvent } from '../../test/support/inbound.ts';
import { act, ACTIONS, check, type Draft, names, shuffledActions } from './drafts/actions.ts';
import { startProduct } from './support/product.ts';
import { inParallel, until } from './support/waiting.ts';
import { createBenchWorkspace, unpaced } from './support/workspace.ts';

/**
 * Checks that exactly one action on a draft wins: fifty simultaneous ones on each of 1,000 drafts, while the worker is
 * killed with SIGKILL and restarted: `npm run bench -- drafts [--drafts 1000 --at-once 4]`. 24 are decisions by the API,
 * over two processes, 24 are updates of the draft's workflow, as operators send them, and two are replies from the inbox,
 * which are never refused, but the first of which may resolve the draft. Each workspace has two drafts, to stay within
 * its rate limits.
 */
const { values: options } = parseArgs({
  options: { drafts: { type: 'string', default: '1000' }, 'at-once': { type: 'string', default: '4' } },
});
const DRAFTS = Number(options.drafts);
const PER_WORKSPACE = 2;
/** For the updates, which reach the database later than requests do: by way of Temporal and a worker. */
const LONGEST_HEAD_START_MS = 1500;

const product = await startProduct(2);
const { pools, config, urls } = product;
const db = systemDb(pools);
const temporal = createTemporalClient(config.temporal);
const wrong: string[] = [];
const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(0);

/** Kills the worker with SIGKILL and restarts it until the signal. @returns how often. */
async function disturb(until: AbortSignal): Promise<number> {
  for (let kills = 0; ; kills += 1) {
    await pause(10_000 + Math.random() * 50_000, undefined, { signal: until }).catch(() => {});
    if (until.aborted) return kills;
    await product.killWorker();
    await pause(Math.random() * 4000);
    await product.startWorker();
  }
}

async function disturbed(work: () => Promise<void>): Promise<number> {
  const end = new AbortController();
  const kills = disturb(end.signal);
  await work().finally(() => end.abort());
  return kills;
}

try {
  const drafts: Draft[] = [];
  const workspaces = Array.from({ length: DRAFTS / PER_WORKSPACE }, (_, index) => index);
  let started = performance.now();
  const killedDrafting = await disturbed(async () => {
    await inParallel(workspaces, 8, async (index) => {
      const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
      await unpaced(pools, id);
      const calls = urls.map((url) => apiClient(url, key));
      await calls[0]?.('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
      for (let contacts = 0; contacts < PER_WORKSPACE; contacts += 1) {
        const contact = `+1212${200 + contacts}${1000 + index}`;
        const lineId = lineIds[0] ?? '';
        const reply = replyEvent(contact, 'I am interested. Is it still free?');
        const status = await callBack({ url: urls[0] ?? '', config }, lineId, reply);
        if (status !== 200) throw new Error(`the response to a reply was ${status}`);
        drafts.push({ replyId: '', workspaceId: id, contact, lineId, calls });
      }
    });
    await until(async () => (await count(sql.fragment`status = 'drafted'`)) === DRAFTS, 600_000);
  });
  const rows = await db.any(sql.type(
    z.object({ replyId: z.string(), address: z.string(), lineId: z.string() }),
  )`
    select d.reply_id, d.address, i.line_id from ai_drafts d join inbound_messages i on i.id = d.reply_id`);
  for (const draft of drafts)
    draft.replyId =
      rows.find(({ address, lineId }) => address === draft.contact && lineId === draft.lineId)?.replyId ?? '';
  console.log(
    `${rows.length} replies drafted in ${seconds(started)} s, ${killedDrafting} times SIGKILL meanwhile`,
  );

  started = performance.now();
  const verdicts = { api: 0, dashboard: 0, inbox_direct_send: 0 };
  const refusals = { ...verdicts };
  let done = 0;
  const killed = await disturbed(() =>
    inParallel(drafts, Number(options['at-once']), async (draft) => {
      const headStart = Math.random() * LONGEST_HEAD_START_MS;
      const given = await Promise.all(
        shuffledActions().map(async (action, index) => {
          if (action.channel !== 'dashboard') await pause(headStart);
          return act(temporal, draft, action, index);
        }),
      );
      wrong.push(...check(draft, given));
      for (const { action, verdict } of given) {
        verdicts[action.channel] += 1;
        if (verdict === 'taken') refusals[action.channel] += 1;
      }
      done += 1;
      if (done % 50 === 0) console.log(`… ${done} drafts, ${seconds(started)} s`);
    }),
  );
  const took = (performance.now() - started) / 1000;
  const won = (...by: string[]): number =>
    drafts.filter(
      ({ winner }) => winner && by.every((name) => [winner.as, winner.channel].includes(name as never)),
    ).length;
  console.log(
    `${DRAFTS * ACTIONS} actions in ${took.toFixed(0)} s (${((DRAFTS * ACTIONS) / took).toFixed(0)}/s), ${killed} times SIGKILL meanwhile`,
  );
  console.log(`winners: ${drafts.filter(({ winner }) => winner).length}, ${won('answer')} from the inbox`);
  for (const channel of ['api', 'dashboard'] as const)
    console.log(
      `  by ${channel}: approve ${won('approve', channel)}, reject ${won('reject', channel)}, mark_sent ${won('mark_sent', channel)}; ${verdicts[channel]} decisions, ${refusals[channel]} refused with the winner named`,
    );

  started = performance.now();
  const open = () =>
    db.oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) "count" from messages where status not in ('sent', 'delivered')`);
  await until(async () => (await open()) === 0, 600_000);
  await until(
    async () =>
      (await temporal.workflow.count(`WorkflowType = 'aiDraft' and ExecutionStatus = 'Running'`)).count === 0,
    300_000,
  );
  console.log(`everything sent and every workflow ended ${seconds(started)} s later`);
  const { messages } = (await fetch(`${product.simulatorUrl}/simulated/carrier/sent`).then((answer) =>
    answer.json(),
  )) as { messages: { text: string }[] };
  const sent = new Map<string, number>();
  for (const { text } of messages) sent.set(text, (sent.get(text) ?? 0) + 1);
  const doubled = [...sent.values()].filter((times) => times > 1).length;
  const approvals = [...sent.keys()].filter((text) => text.startsWith('Approved '));
  console.log(
    `at the carrier: ${messages.length} messages, ${approvals.length} of them approved drafts, ${doubled} doubled`,
  );
  if (doubled > 0) wrong.push(`${doubled} messages are doubled at the carrier`);
  const expected = won('approve') + verdicts.inbox_direct_send;
  if (messages.length !== expected) wrong.push(`${messages.length} messages instead of ${expected}`);
  for (const { winner, replyId } of drafts)
    if (winner?.as === 'approve' && sent.get(winner.text) !== 1)
      wrong.push(`${replyId}: the approved text was not sent`);

  const events = await db.any(sql.type(z.object({ event: z.string(), count: z.int(), replies: z.int() }))`
    select event, count(*) "count", count(distinct message_id) replies from events where event like 'message.ai_draft%' group by event`);
  for (const [event, times] of [
    ['message.ai_draft', DRAFTS],
    ['message.ai_draft_approved', won('approve') + won('answer')],
    ['message.ai_draft_rejected', won('reject')],
  ] as const) {
    const found = events.find((row) => row.event === event);
    console.log(`${event}: ${found?.count ?? 0} of ${times}`);
    if ((found?.count ?? 0) !== times || (found?.replies ?? 0) !== times)
      wrong.push(`${event} was not emitted once each`);
  }

  // Long after the workflows have ended.
  await inParallel(drafts, 8, async (draft) => {
    for (const channel of ['api', 'dashboard'] as const) {
      const late = await act(temporal, draft, { as: 'approve', channel }, 0);
      if (!names(draft, late)) wrong.push(`${draft.replyId}: a late decision by ${channel}: ${late.said}`);
    }
  });
} finally {
  await temporal.connection.close();
  await product.stop();
}
console.log(wrong.length === 0 ? 'nothing is wrong' : `WRONG:\n${wrong.slice(0, 20).join('\n')}`);
if (wrong.length > 0) process.exitCode = 1;

function count(where: ReturnType<typeof sql.fragment>): Promise<number> {
  return db.oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) "count" from ai_drafts where ${where}`);
}
