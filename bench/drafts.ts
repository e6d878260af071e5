import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb } from '#db/transactions.ts';
import { createTemporalClient } from '#providers/temporal.ts';
import { type ApiClient, type ApiResponse, apiClient } from '#test/support/client.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { startProduct } from './product.ts';
import { inParallel, until } from './waiting.ts';
import { createBenchWorkspace, unpaced } from './workspace.ts';

/**
 * Checks that exactly one action on a draft wins: fifty simultaneous ones on each of 1,000 drafts, over two API processes,
 * while the worker is killed with SIGKILL and restarted: `npm run bench:drafts [-- --drafts 1000 --at-once 4]`. Two of the
 * fifty are replies from the inbox, which are never refused, but the first of which may resolve the draft. Each workspace
 * has two drafts, to stay within its rate limits.
 */
const { values: options } = parseArgs({
  options: { drafts: { type: 'string', default: '1000' }, 'at-once': { type: 'string', default: '4' } },
});
const DRAFTS = Number(options.drafts);
const PER_WORKSPACE = 2;
const ACTIONS = 50;
const INBOX = 2;
const WON_AS = { approve: 'approved', reject: 'rejected', mark_sent: 'claimed' } as const;
type Action = keyof typeof WON_AS;

interface Draft {
  replyId: string;
  contact: string;
  lineId: string;
  /** Clients of the same workspace, one for each API process. */
  calls: ApiClient[];
  winner?: { by: Action | 'inbox'; text: string; messageId: string | null };
}

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
        drafts.push({ replyId: '', contact, lineId, calls });
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
  const answers = { won: 0, refused: 0, inbox: 0 };
  const killed = await disturbed(() =>
    inParallel(drafts, Number(options['at-once']), async (draft) => {
      const given = await Promise.all(shuffledActions().map((action, index) => act(draft, action, index)));
      check(draft, given);
      if ((answers.inbox / INBOX) % 100 === 99)
        console.log(`… ${answers.inbox / INBOX + 1} drafts, ${seconds(started)} s`);
      answers.won += given.filter(({ answer }) => answer.status === 200).length;
      answers.refused += given.filter(({ answer }) => answer.status === 409).length;
      answers.inbox += given.filter(({ answer }) => answer.status === 201).length;
    }),
  );
  const took = (performance.now() - started) / 1000;
  const won = (by: Action | 'inbox'): number => drafts.filter(({ winner }) => winner?.by === by).length;
  console.log(
    `${DRAFTS * ACTIONS} actions in ${took.toFixed(0)} s (${((DRAFTS * ACTIONS) / took).toFixed(0)}/s), ${killed} times SIGKILL meanwhile`,
  );
  console.log(
    `winners: ${drafts.filter(({ winner }) => winner).length} (approve ${won('approve')}, reject ${won('reject')}, mark_sent ${won('mark_sent')}, inbox ${won('inbox')})`,
  );
  console.log(`409 naming the winner: ${answers.refused}; answers from the inbox sent: ${answers.inbox}`);

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
  const expected = won('approve') + answers.inbox;
  if (messages.length !== expected) wrong.push(`${messages.length} messages instead of ${expected}`);
  for (const { winner, replyId } of drafts)
    if (winner?.by === 'approve' && sent.get(winner.text) !== 1)
      wrong.push(`${replyId}: the approved text was not sent`);

  const events = await db.any(sql.type(z.object({ event: z.string(), count: z.int(), replies: z.int() }))`
    select event, count(*) "count", count(distinct message_id) replies from events where event like 'message.ai_draft%' group by event`);
  for (const [event, times] of [
    ['message.ai_draft', DRAFTS],
    ['message.ai_draft_approved', won('approve') + won('inbox')],
    ['message.ai_draft_rejected', won('reject')],
  ] as const) {
    const found = events.find((row) => row.event === event);
    console.log(`${event}: ${found?.count ?? 0} of ${times}`);
    if (found?.count !== times || found.replies !== times) wrong.push(`${event} was not emitted once each`);
  }

  // Long after the workflows have ended.
  await inParallel(drafts, 8, async (draft) => {
    const late = await act(draft, 'approve', 0);
    if (!names(draft, late.answer))
      wrong.push(`${draft.replyId}: the response to a late action was ${late.answer.status}`);
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

/** The fifty actions in random order. */
function shuffledActions(): (Action | 'inbox')[] {
  const kinds = Object.keys(WON_AS) as Action[];
  const actions = Array.from({ length: ACTIONS }, (_, index) =>
    index < INBOX ? ('inbox' as const) : (kinds[index % kinds.length] ?? 'approve'),
  );
  return actions
    .map((action) => ({ action, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ action }) => action);
}

async function act({ replyId, contact, calls }: Draft, action: Action | 'inbox', index: number) {
  const call = calls[index % calls.length];
  if (!call) throw new Error('there is no API process');
  const text = `${action === 'approve' ? 'Approved' : 'By hand'} ${replyId} ${index}`;
  const answer =
    action === 'inbox'
      ? await call('POST', '/api/inbox/send-reply', { phone: contact, message: text })
      : await call('POST', '/api/knowledge-base/auto-replies', {
          replyId,
          action,
          ...(action === 'approve' && { message: text }),
        });
  return { action, text, answer };
}
type Given = Awaited<ReturnType<typeof act>>;

/** Checks that there is one winner, which every other response names. */
function check(draft: Draft, given: readonly Given[]): void {
  const winners = given.filter(({ answer }) => answer.status === 200);
  const refused = given.filter(({ answer }) => answer.status === 409);
  const byHand = given.filter(({ answer }) => answer.status === 201);
  const problem = (text: string): void => void wrong.push(`${draft.replyId}: ${text}`);
  if (winners.length > 1) problem(`${winners.length} winners`);
  if (winners.length + refused.length !== ACTIONS - INBOX || byHand.length !== INBOX)
    problem(`responses ${given.map(({ answer }) => answer.status).join(' ')}`);
  const [winner] = winners;
  if (winner) {
    const messageId = (winner.answer.body as { messageId?: string }).messageId ?? null;
    draft.winner = { by: winner.action, text: winner.text, messageId };
  } else if (refused.length > 0) draft.winner = { by: 'inbox', text: '', messageId: null };
  for (const { answer } of refused)
    if (!names(draft, answer)) problem(`a 409 names another winner: ${JSON.stringify(answer.body)}`);
}

function names({ winner }: Draft, { status, body }: ApiResponse): boolean {
  if (!winner || status !== 409) return false;
  const [as, channel] =
    winner.by === 'inbox' ? ['approved', 'inbox_direct_send'] : [WON_AS[winner.by], 'api'];
  const answer = body as { code?: string; status?: string; approvalChannel?: string };
  return (
    answer.code === 'DRAFT_ALREADY_RESOLVED' && answer.status === as && answer.approvalChannel === channel
  );
}
