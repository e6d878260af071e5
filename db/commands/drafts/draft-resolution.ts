import { sql } from 'slonik';
import { z } from 'zod';
import type { LinkReader } from '#domain/messages/attachment.ts';
import type { CallerWorkspace } from '#domain/accounts/caller.ts';
import {
  chatChannelOf,
  type DraftAction,
  type DraftBecomes,
  type DraftStatus,
  RESOLVED_AS,
} from '#domain/drafts/ai-draft.ts';
import { type AuditActor, shownActor } from '#domain/accounts/audit.ts';
import type { ApprovalChannel } from '#domain/events/ai-draft.ts';
import { newId } from '#domain/base/ids.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { requireSending } from '#db/queries/accounts/writable.ts';
import { acceptedMessageOf } from '#domain/messages/accepted-message.ts';
import type { CapabilitiesOf } from '#domain/lines/capability.ts';
import { typingMs } from '#domain/messages/message-action.ts';
import type { MessageInput } from '#domain/messages/message.ts';
import { typeBefore } from '#db/commands/inbox/conversation-actions.ts';
import { acceptMessages } from '#db/commands/messages/accept-messages.ts';
import { answerInput } from '#db/commands/messages/answer-input.ts';
import { DraftRow, findAnswered, findDraft } from '#db/queries/drafts/ai-drafts.ts';
import { discardWaitingDraft, retryDraft, wakeDraft } from './ai-drafts.ts';
import { emitDraftResolved, DRAFT_SOURCE } from './draft-events.ts';
import { loadIntakeContext } from '#db/queries/messages/intake.ts';
import { isRevoked } from '#db/queries/contacts/consents.ts';
import { findLead } from '#db/queries/contacts/leads.ts';
import { findLine, isUsable } from '#db/queries/lines/lines.ts';
import { lockList, quickSendsList } from '#db/queries/contacts/lists.ts';
import { lockConversation, lockConversationToAnswer } from '#db/queries/sending/message-locks.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { AUTOPILOT } from '#domain/drafts/autopilot.ts';
import { withoutTemplates } from '#domain/messages/template.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { hasAutopilotWritten } from '#db/queries/drafts/autopilot.ts';
import { wakeSelf } from '#db/wakes/wakes.ts';
import { isSuspected } from '#db/queries/contacts/opt-out-suspicions.ts';
import { aiDraftId } from '#workflows/protocol/workflow-ids.ts';

export interface DraftDecision {
  replyId: string;
  action: DraftAction;
  /** Where it was decided: in a chat app, the recorded channel depends on how. */
  channel: ApprovalChannel;
  /** Sent instead of the draft. */
  message?: string | undefined;
  /** The earliest time to send it. Default: now. */
  schedule?: Date | undefined;
  replyToMessageId?: string | undefined;
  userId: string | null;
  by: AuditActor;
}

export interface ResolutionContext {
  workspace: Pick<CallerWorkspace, 'timezone' | 'country'>;
  links: LinkReader;
  capabilitiesOf: CapabilitiesOf;
  now: Date;
}

/** The signal to the draft's workflow. */
const SIGNAL_OF = { approve: 'approve', reject: 'reject', mark_sent: 'markSent' } as const;

export interface Resolved {
  status: DraftStatus;
  messageId: string | null;
}

/**
 * Resolves a draft. The first action wins, whatever its channel. An approved draft is queued in the same commit.
 * @throws Refusal: DRAFT_ALREADY_RESOLVED with what became of it (`approvalChannel` is null if it was superseded), NOT_FOUND, or
 * because nothing may be sent; the draft stays open then.
 */
export async function resolveDraft(
  db: TenantDb,
  decision: DraftDecision,
  context: ResolutionContext,
): Promise<Resolved> {
  const { now } = context;
  const { replyId, action, userId, by } = decision;
  const found = await findDraft(db, replyId);
  if (!found || found.draft === null) throw unknown();
  // A resolved draft does not change any more, so no lock is required.
  if (found.status !== 'drafted') throw taken(found);
  if (action === 'approve') await requireSending(db);
  // Approval may create a lead and chooses a line. The lock order is lists, lines, conversations.
  if (action === 'approve') await lockToAnswer(db, found);
  else await lockConversation(db, found.address);
  // Before the lock, another version may have been stored, or the contact may have asked to be left alone.
  if (action === 'approve' && (await isSuspected(db, found.address))) throw unknown();
  const messageId = action === 'approve' ? newId(now) : null;
  const { version } = (await findDraft(db, replyId)) ?? found;
  const channel = decision.channel === 'chat_app' ? chatChannelOf(decision, version) : decision.channel;
  const settled = await settle(
    db,
    replyId,
    { status: RESOLVED_AS[action], channel, messageId, userId, by },
    now,
  );
  if (!settled) {
    const winner = await findDraft(db, replyId);
    throw winner && winner.draft !== null ? taken(winner) : unknown();
  }
  const text = decision.message ?? settled.draft ?? '';
  const { schedule = now, replyToMessageId } = decision;
  if (messageId !== null)
    await queue(db, settled, { id: messageId, text, userId, schedule, replyToMessageId }, context);
  const rejection = { replyId, message: settled.draft ?? '', approvalChannel: channel };
  if (action === 'reject') await emitDraftResolved(db, 'message.ai_draft_rejected', rejection, now);
  // Operators decide through the workflow.
  if (by.type === 'operator') wakeSelf(db, aiDraftId(replyId), now);
  else wakeDraft(db, replyId, now, SIGNAL_OF[action]);
  return { status: RESOLVED_AS[action], messageId };
}

/**
 * Asks for another version of an open draft.
 * @throws Refusal: like `resolveDraft`; INVALID_STATE if there can be none.
 */
export async function requestVersion(
  db: TenantDb,
  { replyId, hint }: { replyId: string; hint: string | null },
  now: Date,
): Promise<void> {
  const found = await findDraft(db, replyId);
  if (!found || found.draft === null) throw unknown();
  await lockConversation(db, found.address);
  const draft = await findDraft(db, replyId);
  if (!draft || (await isSuspected(db, draft.address))) throw unknown();
  if (draft.status !== 'drafted') throw taken(draft);
  await retryDraft(db, draft, hint, now);
}

const unknown = (): Refusal => new Refusal('NOT_FOUND', 'replyId', 'no such draft in this workspace');

const taken = ({ status, approvalChannel }: DraftRow): Refusal =>
  new Refusal('DRAFT_ALREADY_RESOLVED', null, null, { status, approvalChannel });

/**
 * Sends a draft that nobody approves: it ends `approved` without a channel, and no approval is told. Requires `lockToAnswer`.
 * @param disclosure sent before it to a contact whom the autopilot has not written to; '': none.
 */
export async function sendByAutopilot(
  db: TenantDb,
  draft: DraftRow,
  disclosure: string,
  context: ResolutionContext,
): Promise<void> {
  const { now } = context;
  const id = newId(now);
  const isFirst = disclosure !== '' && !(await hasAutopilotWritten(db, draft.address));
  const text = `${isFirst ? `${withoutTemplates(disclosure)}\n\n` : ''}${draft.draft ?? ''}`;
  await queue(db, draft, { id, text, userId: null, schedule: now, source: AUTOPILOT }, context);
  await db.query(sql.type(NoRows)`
    update ai_drafts set status = 'approved', message_id = ${id}, resolved_by = ${AUTOPILOT}, resolved_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and reply_id = ${draft.replyId}`);
  await insertAuditEntry(
    { db, workspaceId: db.workspaceId },
    {
      actor: { type: 'system', id: null, name: 'The autopilot' },
      channel: 'system',
      action: 'draft.sent_by_autopilot',
      target: { type: 'draft', id: draft.replyId },
      changes: { messageId: id, confidence: draft.confidence, model: draft.model },
    },
  );
}

/** Whether the contact has withdrawn their consent to messages over the channel in which they wrote. A person may answer them still. */
export async function hasWithdrawn(db: TenantDb, draft: DraftRow): Promise<boolean> {
  const reply = await findAnswered(db, draft);
  const line = reply && (await findLine(db, reply.lineId));
  return isRevoked(db, draft.address, line?.channel ?? (draft.address.includes('@') ? 'email' : 'sms'));
}

/** Locks what sending a draft changes: lists, then lines, then its conversation. */
export async function lockToAnswer(db: TenantDb, draft: DraftRow): Promise<void> {
  await lockList(db, await quickSendsList(db));
  const reply = await findAnswered(db, draft);
  await lockConversationToAnswer(db, draft.address, reply?.lineId ?? null);
}

/**
 * Resolves the draft of a conversation that a person answers: an open draft counts as approved, and a waiting one is
 * discarded. Call it after `ensureLeads`, because lists are locked before conversations.
 * @returns the approved draft, for `emitDraftAnswered`.
 */
export async function resolveByReply(
  db: TenantDb,
  {
    address,
    lineId,
    messageId,
    userId,
    by,
  }: {
    address: string;
    lineId: string | null;
    messageId: string;
    userId: string | null;
    by: AuditActor;
  },
  now: Date,
): Promise<DraftRow | null> {
  await lockConversationToAnswer(db, address, lineId);
  const open = await db.maybeOne(sql.type(DraftRow)`
    select * from ai_drafts where workspace_id = ${db.workspaceId} and address = ${address} and status in ('waiting', 'drafted')`);
  if (!open) return null;
  if (open.status === 'drafted') {
    return settle(
      db,
      open.replyId,
      { status: 'approved', channel: 'inbox_direct_send', messageId, userId, by },
      now,
    );
  }
  await discardWaitingDraft(db, open.replyId, now);
  return { ...open, status: 'superseded' };
}

/**
 * Claims the open draft of a conversation in which a person has answered with another program, after the contact wrote. Requires the
 * conversation's lock.
 */
export async function claimOpenDraft(
  db: TenantDb,
  { address, messageId, at }: { address: string; messageId: string; at: Date },
  now: Date,
): Promise<void> {
  const claimed = await db.anyFirst(sql.type(ClaimedRow)`
    update ai_drafts d set status = case when d.status = 'waiting' then 'superseded' else 'claimed' end,
      message_id = case when d.status = 'waiting' then null else ${messageId} end, resolved_at = ${sql.timestamp(now)}
    where d.workspace_id = ${db.workspaceId} and d.address = ${address} and d.status in ('waiting', 'drafted')
      and not exists (
        select from inbound_messages i
        where i.workspace_id = d.workspace_id and i.address = d.address and i.received_at > ${sql.timestamp(at)} and not i.auto_reply)
    returning reply_id`);
  for (const replyId of claimed) wakeDraft(db, replyId, now, 'markSent');
}

const ClaimedRow = z.object({ replyId: z.string() });

export async function emitDraftAnswered(db: TenantDb, resolved: DraftRow | null, now: Date): Promise<void> {
  if (!resolved) return;
  const { replyId, draft, approvalChannel } = resolved;
  if (approvalChannel !== null) {
    const approval = { replyId, message: draft ?? '', approvalChannel };
    await emitDraftResolved(db, 'message.ai_draft_approved', approval, now);
  }
  wakeDraft(db, replyId, now, approvalChannel === null ? 'superseded' : 'approve');
}

/** Resolves an open draft atomically; null if it was resolved before. */
async function settle(
  db: TenantDb,
  replyId: string,
  to: Pick<DraftDecision, 'channel' | 'userId' | 'by'> & {
    status: DraftBecomes<'drafted'>;
    messageId: string | null;
  },
  now: Date,
): Promise<DraftRow | null> {
  return db.maybeOne(sql.type(DraftRow)`
    update ai_drafts set status = ${to.status}, approval_channel = ${to.channel}, message_id = ${to.messageId},
      resolved_by_user_id = ${to.userId}, resolved_by = ${shownActor(to.by)}, resolved_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId} and status = 'drafted'
    returning *`);
}

/**
 * Queues an approved draft: on the line that the contact wrote to, or, if there is none or it can no longer send, on the
 * line assigned to the contact.
 */
async function queue(
  db: TenantDb,
  draft: DraftRow,
  {
    id,
    text,
    userId,
    schedule,
    replyToMessageId,
    source = DRAFT_SOURCE,
  }: Pick<DraftDecision, 'userId' | 'replyToMessageId'> & {
    id: string;
    text: string;
    schedule: Date;
    source?: string;
  },
  { workspace, links, capabilitiesOf, now }: ResolutionContext,
): Promise<void> {
  const { address } = draft;
  const reply = await findAnswered(db, draft);
  const line = reply && (await findLine(db, reply.lineId));
  const leadId = draft.leadId ?? reply?.leadId ?? null;
  // It may have been deleted since.
  const lead = leadId === null ? null : await findLead(db, leadId);
  const input: MessageInput = {
    ...(await answerInput(db, { address, written: reply?.senderPhone ?? null, lead, line }, text)),
    ...(replyToMessageId !== undefined && { replyToMessageId }),
  };
  const context = await loadIntakeContext(db, [input], workspace, { links, now });
  const types = line && isUsable(line) && capabilitiesOf(line).includes('typing');
  const from = schedule > now ? schedule : now;
  const until = types ? new Date(from.getTime() + typingMs(text)) : from;
  const message = {
    ...acceptedMessageOf(input, context, { now, source, schedule: until, userId }),
    id,
  };
  await acceptMessages(db, [message], now);
  if (types) await typeBefore(db, line, id, { from, until }, now);
}
