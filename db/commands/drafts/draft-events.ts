import { sql } from 'slonik';
import { z } from 'zod';
import { type ApprovalChannel } from '#domain/events/ai-draft.ts';
import { AUTOPILOT } from '#domain/drafts/autopilot.ts';
import { crmEcho } from '#domain/events/base.ts';
import { CrmIds } from '#domain/messages/message.ts';
import { shownReply } from '#domain/inbox/reply.ts';
import { ANSWERED, DraftRow } from '#db/queries/drafts/ai-drafts.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { notifyOfDraft } from './chat-messages.ts';
import type { MessageRow } from '#db/queries/messages/messages.ts';
import { SAID } from '#db/queries/inbox/replies.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** The `source` of messages that are approved drafts. */
export const DRAFT_SOURCE = 'ai-draft';

/** The sources of messages with which members, or the autopilot, answer. */
export const ANSWER_SOURCES: ReadonlySet<string> = new Set(['inbox', DRAFT_SOURCE, AUTOPILOT]);

const ContextRow = z.object({
  body: z.string().nullable(),
  leadId: z.string().nullable(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  phones: z.array(z.string()).nullable(),
  campaignId: z.string().nullable(),
  campaignName: z.string().nullable(),
  crm: CrmIds.nullable(),
});

/** The fields common to all events of a draft. */
async function eventContext(db: TenantDb, replyId: string, now: Date) {
  const { body, ...row } = await db.one(sql.type(ContextRow)`
    select ${SAID} body, l.id lead_id, l.first_name, l.last_name, l.phones, c.id campaign_id, c.name campaign_name, m.crm
    from ai_drafts d ${ANSWERED}
    left join leads l on l.workspace_id = ${db.workspaceId} and l.id = coalesce(d.lead_id, i.lead_id)
    left join campaigns c on c.workspace_id = ${db.workspaceId} and c.id = i.campaign_id
    left join messages m on m.workspace_id = ${db.workspaceId} and m.id = i.original_message_id
    where d.workspace_id = ${db.workspaceId} and d.reply_id = ${replyId}`);
  const lead = {
    firstName: row.firstName ?? '',
    lastName: row.lastName ?? '',
    phone: row.phones?.[0] ?? null,
  };
  const common = {
    timestamp: now.toISOString(),
    workspaceId: db.workspaceId,
    messageId: replyId,
    ...(row.leadId !== null && { leadId: row.leadId, lead }),
    ...(row.campaignId !== null && { campaignId: row.campaignId }),
    ...(row.campaignName !== null && { campaignName: row.campaignName }),
    ...crmEcho(row.crm ?? {}),
  };
  return { inboundText: shownReply(body ?? ''), common };
}

/** Tells webhooks, streams, and linked chats or an email, of a draft. */
export async function emitDraft(
  db: TenantDb,
  { replyId, source, address, draft, confidence, version }: DraftRow,
  now: Date,
): Promise<void> {
  const { inboundText, common } = await eventContext(db, replyId, now);
  const draftMessage = draft ?? '';
  const event = 'message.ai_draft' as const;
  const payload = {
    event,
    ...common,
    message: draftMessage,
    data: {
      replyId,
      source,
      draftMessage,
      conversationRecipient: address,
      inboundText,
      confidence: confidence ?? 0,
      version,
      mode: 'copilot' as const,
      approveEndpoint: '/api/knowledge-base/auto-replies' as const,
    },
  };
  await emitEvents(db, [payload], now);
  await notifyOfDraft(db, { replyId, leadId: common.leadId ?? null }, now);
}

/** @param message the text that was sent, or the rejected draft. */
export async function emitDraftResolved(
  db: TenantDb,
  event: 'message.ai_draft_approved' | 'message.ai_draft_rejected',
  {
    replyId,
    message,
    approvalChannel,
  }: { replyId: string; message: string; approvalChannel: ApprovalChannel },
  now: Date,
): Promise<void> {
  const { common } = await eventContext(db, replyId, now);
  const payload = { event, ...common, message, data: { replyId, approvalChannel } };
  await emitEvents(db, [payload], now);
}

/** Emits the approval of a draft once its message is sent, with the text that was sent. */
export async function emitSentDraft(
  db: TenantDb,
  { id, source, body, sentText }: MessageRow,
  now: Date,
): Promise<void> {
  if (source !== DRAFT_SOURCE) return;
  const draft = await db.maybeOne(sql.type(DraftRow)`
    select * from ai_drafts where workspace_id = ${db.workspaceId} and message_id = ${id}`);
  if (!draft || draft.approvalChannel === null) return;
  const { replyId, approvalChannel } = draft;
  const message = sentText ?? body;
  await emitDraftResolved(db, 'message.ai_draft_approved', { replyId, message, approvalChannel }, now);
}
