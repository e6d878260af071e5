import { inspect } from 'node:util';
import { type Client, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { updateWorkflow } from '../../../providers/temporal.ts';
import type { ApiClient } from '../../../test/support/client.ts';
import { decide } from '../../../workflows/protocol/updates.ts';
import { aiDraftId } from '../../../workflows/protocol/workflow-ids.ts';

/** The actions that race for a draft of `bench:drafts`: decisions by the API and by updates, and answers from the inbox. */

export const ACTIONS = 50;
const INBOX = 2;
const WON_AS = { approve: 'approved', reject: 'rejected', mark_sent: 'claimed' } as const;
export type Decision = keyof typeof WON_AS;
const DECISIONS = Object.keys(WON_AS) as Decision[];

/** The name of the channel in events and refusals. */
type Channel = 'api' | 'dashboard' | 'inbox_direct_send';
export type Action =
  | { as: Decision; channel: 'api' | 'dashboard' }
  | { as: 'answer'; channel: 'inbox_direct_send' };

export interface Draft {
  replyId: string;
  workspaceId: string;
  contact: string;
  lineId: string;
  /** Clients of the same workspace, one for each API process. */
  calls: ApiClient[];
  winner?: { as: Action['as']; channel: Channel; text: string };
}

export interface Given {
  action: Action;
  text: string;
  /** `taken`: refused, because the draft was decided before; `sent`: an answer from the inbox. */
  verdict: 'won' | 'taken' | 'sent' | 'other';
  /** In a refusal: the status of the draft, and the channel by which it was decided. */
  winner?: { status?: string; approvalChannel?: string } | undefined;
  /** The response in words, for the report. */
  said: string;
}

/** The fifty actions in random order, half of the decisions by each channel. */
export function shuffledActions(): Action[] {
  const actions = Array.from({ length: ACTIONS }, (_, index): Action => {
    if (index < INBOX) return { as: 'answer', channel: 'inbox_direct_send' };
    const as = DECISIONS[index % DECISIONS.length] ?? 'approve';
    return { as, channel: Math.floor(index / DECISIONS.length) % 2 === 0 ? 'api' : 'dashboard' };
  });
  return actions
    .map((action) => ({ action, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ action }) => action);
}

export async function act(temporal: Client, draft: Draft, action: Action, index: number): Promise<Given> {
  const text = `${action.as === 'approve' ? 'Approved' : 'By hand'} ${draft.replyId} ${index}`;
  if (action.channel === 'dashboard')
    return { action, text, ...(await byUpdate(temporal, draft, action.as, text)) };
  const call = draft.calls[index % draft.calls.length];
  if (!call) throw new Error('there is no API process');
  return { action, text, ...(await byApi(call, draft, action, text)) };
}

type Outcome = Omit<Given, 'action' | 'text'>;

async function byApi(
  call: ApiClient,
  { replyId, contact }: Draft,
  { as }: Action,
  text: string,
): Promise<Outcome> {
  const { status, body } =
    as === 'answer'
      ? await call('POST', '/api/inbox/send-reply', { phone: contact, message: text })
      : await call('POST', '/api/knowledge-base/auto-replies', {
          replyId,
          action: as,
          ...(as === 'approve' && { message: text }),
        });
  const said = `${status} ${JSON.stringify(body)}`;
  if (status === 200) return { verdict: 'won', said };
  if (status === 201) return { verdict: 'sent', said };
  const isTaken = status === 409 && body.code === 'DRAFT_ALREADY_RESOLVED';
  return isTaken ? { verdict: 'taken', winner: body, said } : { verdict: 'other', said };
}

async function byUpdate(
  temporal: Client,
  { replyId, workspaceId }: Draft,
  action: Decision,
  message: string,
): Promise<Outcome> {
  const order = { by: 'bench', action, ...(action === 'approve' && { message }) };
  const workflow = { workflowId: aiDraftId(replyId), workspaceId };
  try {
    const verdict = await updateWorkflow(temporal, workflow, decide, order);
    return { verdict: 'won', said: JSON.stringify(verdict) };
  } catch (error) {
    const refusal = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
    if (!(refusal instanceof ApplicationFailure)) return { verdict: 'other', said: inspect(error) };
    const { type, message, details } = refusal;
    const said = `${type}: ${message} ${JSON.stringify(details)}`;
    if (type !== 'DRAFT_ALREADY_RESOLVED') return { verdict: 'other', said };
    return { verdict: 'taken', winner: details?.[0] as Given['winner'], said };
  }
}

/** Whether a refusal names the winner. */
export function names({ winner }: Draft, given: Given): boolean {
  if (!winner || given.verdict !== 'taken') return false;
  const status = winner.as === 'answer' ? 'approved' : WON_AS[winner.as];
  return given.winner?.status === status && given.winner.approvalChannel === winner.channel;
}

/** Checks that there is one winner, which every refusal names, and records it. @returns what is wrong. */
export function check(draft: Draft, given: readonly Given[]): string[] {
  const that = (verdict: Given['verdict']) => given.filter((one) => one.verdict === verdict);
  const problems = that('other').map(({ action, said }) => `${action.as} by ${action.channel}: ${said}`);
  const [winner, ...others] = that('won');
  if (others.length > 0) problems.push(`${others.length + 1} winners`);
  if (that('sent').length !== INBOX) problems.push(`${that('sent').length} answers from the inbox`);
  if (winner) draft.winner = { ...winner.action, text: winner.text };
  else if (that('taken').length > 0) draft.winner = { as: 'answer', channel: 'inbox_direct_send', text: '' };
  for (const refused of that('taken'))
    if (!names(draft, refused)) problems.push(`a refusal names another winner: ${refused.said}`);
  return problems.map((problem) => `${draft.replyId}: ${problem}`);
}
