import { sql } from 'slonik';
import type { LinkReader } from '#domain/attachment.ts';
import type { CallerWorkspace } from '#domain/caller.ts';
import { type DraftAction, DraftStatus, RESOLVED_AS } from '#domain/ai-draft.ts';
import type { ApprovalChannel } from '#domain/events/ai-draft.ts';
import { newId } from '#domain/ids.ts';
import { draftMessage } from '#domain/message-draft.ts';
import type { MessageInput } from '#domain/message.ts';
import { acceptMessages } from '#db/commands/sending/accept-messages.ts';
import { DraftRow, findDraft, giveUpWaiting, wakeDraft } from './ai-drafts.ts';
import { announceResolved, DRAFT_SOURCE } from './draft-events.ts';
import { loadIntakeContext } from '#db/queries/intake.ts';
import { findLine, isUsable } from '#db/queries/lines.ts';
import { lockList, quickSendsList } from '#db/queries/lists.ts';
import { lockConversation } from '#db/queries/message-locks.ts';
import type { TenantDb } from '#db/transactions.ts';
import { findReply } from '#db/queries/replies.ts';

export interface DraftDecision {
  replyId: string;
  action: DraftAction;
  /** Through which channel it was decided. */
  channel: ApprovalChannel;
  /** Sent instead of the draft as it stands. */
  message?: string | undefined;
  userId: string | null;
}

/** What queueing an approved draft needs to know beside the database. */
export interface ResolutionContext {
  workspace: Pick<CallerWorkspace, 'timezone' | 'country'>;
  links: LinkReader;
  now: Date;
}

/** What the draft's workflow is told. */
const TOLD_AS = { approve: 'approve', reject: 'reject', mark_sent: 'markSent' } as const;

export type Resolved =
  | { kind: 'resolved'; status: DraftStatus; messageId: string | null }
  /** Somebody was first: what they made of it, and through which channel; null where no person did. */
  | { kind: 'taken'; status: DraftStatus; approvalChannel: ApprovalChannel | null }
  | { kind: 'unknown' };

/**
 * Settles a draft: the first action wins, whichever channel it comes through, and is told who won otherwise. The
 * row's status decides, so that it needs no worker; an approved draft is queued in the same commit.
 * @throws Refusal when no line can send it; the draft stays open.
 */
export async function resolveDraft(
  db: TenantDb,
  decision: DraftDecision,
  context: ResolutionContext,
): Promise<Resolved> {
  const { now } = context;
  const { replyId, action, channel, userId } = decision;
  const found = await findDraft(db, replyId);
  if (!found || found.draft === null) return { kind: 'unknown' };
  // What is settled stays so: whoever is late waits for no lock.
  if (found.status !== 'drafted') return taken(found);
  // The contact of an approved draft may become a lead, and lists are locked before conversations.
  if (action === 'approve') await lockList(db, await quickSendsList(db));
  await lockConversation(db, found.address);
  const messageId = action === 'approve' ? newId(now) : null;
  const settled = await settle(db, replyId, { status: RESOLVED_AS[action], channel, messageId, userId }, now);
  if (!settled) {
    const winner = await findDraft(db, replyId);
    return winner ? taken(winner) : { kind: 'unknown' };
  }
  const text = decision.message ?? settled.draft ?? '';
  if (messageId !== null) await queue(db, settled, { id: messageId, text, userId }, context);
  const rejection = { replyId, message: settled.draft ?? '', approvalChannel: channel };
  if (action === 'reject') await announceResolved(db, 'message.ai_draft_rejected', rejection, now);
  wakeDraft(db, replyId, now, TOLD_AS[action]);
  return { kind: 'resolved', status: RESOLVED_AS[action], messageId };
}

const taken = ({ status, approvalChannel }: DraftRow): Resolved => ({
  kind: 'taken',
  status: DraftStatus.parse(status),
  approvalChannel,
});

/**
 * A person answers the contact themselves: the conversation's open draft is approved by that, and one that is not
 * written yet is given up. After the contact has its lead (`ensureLeads`), as lists are locked before conversations.
 * @returns the draft that it approved, for `announceAnswered`.
 */
export async function resolveByAnswer(
  db: TenantDb,
  { address, messageId, userId }: { address: string; messageId: string; userId: string | null },
  now: Date,
): Promise<DraftRow | null> {
  await lockConversation(db, address);
  const open = await db.maybeOne(sql.type(DraftRow)`
    select * from ai_drafts where workspace_id = ${db.workspaceId} and address = ${address} and status in ('waiting', 'drafted')`);
  if (!open) return null;
  if (open.status === 'drafted') {
    return settle(
      db,
      open.replyId,
      { status: 'approved', channel: 'inbox_direct_send', messageId, userId },
      now,
    );
  }
  await giveUpWaiting(db, open.replyId, now);
  return { ...open, status: 'superseded' };
}

export async function announceAnswered(db: TenantDb, resolved: DraftRow | null, now: Date): Promise<void> {
  if (!resolved) return;
  const { replyId, draft, approvalChannel } = resolved;
  if (approvalChannel !== null) {
    const approval = { replyId, message: draft ?? '', approvalChannel };
    await announceResolved(db, 'message.ai_draft_approved', approval, now);
  }
  wakeDraft(db, replyId, now, approvalChannel === null ? 'superseded' : 'approve');
}

/** The one statement that decides who is first; null when somebody was. */
async function settle(
  db: TenantDb,
  replyId: string,
  to: { status: DraftStatus; channel: ApprovalChannel; messageId: string | null; userId: string | null },
  now: Date,
): Promise<DraftRow | null> {
  return db.maybeOne(sql.type(DraftRow)`
    update ai_drafts set status = ${to.status}, approval_channel = ${to.channel}, message_id = ${to.messageId},
      resolved_by_user_id = ${to.userId}, resolved_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId} and status = 'drafted'
    returning *`);
}

/**
 * Queues an approved draft as an answer: through the line that the contact wrote to, or when that can no longer send,
 * the contact's own.
 */
async function queue(
  db: TenantDb,
  { replyId, address }: DraftRow,
  { id, text, userId }: { id: string; text: string; userId: string | null },
  { workspace, links, now }: ResolutionContext,
): Promise<void> {
  const reply = await findReply(db, replyId);
  const line = reply && (await findLine(db, reply.lineId));
  const isEmail = address.includes('@');
  const input: MessageInput = {
    message: text,
    messageType: line?.channel ?? (isEmail ? 'email' : 'imessage'),
    ...(isEmail ? { recipientEmail: address } : { recipientPhone: address }),
    ...(reply && reply.leadId !== null && { leadId: reply.leadId }),
    ...(line && isUsable(line) && { fromLineId: line.id }),
  };
  const context = await loadIntakeContext(db, [input], workspace, { links, now });
  const draft = { ...draftMessage(input, context, { now, source: DRAFT_SOURCE, schedule: now, userId }), id };
  await acceptMessages(db, [draft], now);
}
