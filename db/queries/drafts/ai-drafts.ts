import { sql } from 'slonik';
import { z } from 'zod';
import {
  type AutoReply,
  DraftStatus,
  DraftTag,
  FormerVersion,
  Sentiment,
  StoredDraftStatus,
} from '#domain/drafts/ai-draft.ts';
import { DRAFTS_PER_HOUR } from '#domain/drafts/ai-budget.ts';
import { ApprovalChannel, DraftSource } from '#domain/events/ai-draft.ts';
import { CountRow } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findReply, type InboundRow, SAID } from '../inbox/replies.ts';

export const DraftRow = z.object({
  /** The draft's id. A draft of the copilot has the id of the reply that it answers. */
  replyId: z.string(),
  source: DraftSource,
  /** The reply that a draft answers which the copilot has not written. */
  answeredReplyId: z.string().nullable(),
  leadId: z.string().nullable(),
  workspaceId: z.string(),
  address: z.string(),
  status: StoredDraftStatus,
  dueAt: z.date(),
  draft: z.string().nullable(),
  confidence: z.number().nullable(),
  tags: z.array(DraftTag),
  sentiment: Sentiment.nullable(),
  approvalChannel: ApprovalChannel.nullable(),
  /** Named by `shownActor`. */
  resolvedBy: z.string().nullable(),
  messageId: z.string().nullable(),
  model: z.string().nullable(),
  promptTokens: z.int().nullable(),
  completionTokens: z.int().nullable(),
  error: z.string().nullable(),
  resolvedAt: z.date().nullable(),
  version: z.int(),
  hint: z.string().nullable(),
  formerVersions: z.array(FormerVersion),
  retryAt: z.date().nullable(),
  retryHint: z.string().nullable(),
  retryError: z.string().nullable(),
  heldBackBy: z.string().nullable(),
  createdAt: z.date(),
});
export type DraftRow = z.infer<typeof DraftRow>;

export async function findDraft(db: TenantDb, replyId: string): Promise<DraftRow | null> {
  return db.maybeOne(sql.type(DraftRow)`
    select * from ai_drafts where workspace_id = ${db.workspaceId} and reply_id = ${replyId}`);
}

/** The reply that a draft answers; null if the contact has not written. */
export const findAnswered = (
  db: TenantDb,
  { replyId, answeredReplyId }: Pick<DraftRow, 'replyId' | 'answeredReplyId'>,
): Promise<InboundRow | null> => findReply(db, answeredReplyId ?? replyId);

/** Of a draft `d`: nothing is offered to be sent to a contact who may have asked to be left alone. */
export const isOffered = sql.fragment`(d.status <> 'drafted' or not exists (
  select from opt_out_suspicions s
  where s.workspace_id = d.workspace_id and s.address = d.address and s.status = 'open'))`;

const ListedRow = DraftRow.extend({
  status: DraftStatus,
  draft: z.string(),
  answeredId: z.string().nullable(),
  answeredBody: z.string().nullable(),
  answeredLeadId: z.string().nullable(),
});
export type ListedDraft = z.infer<typeof ListedRow> & { id: string };

/** Joins `ai_drafts d` with the reply that each answers, as `i`. */
export const ANSWERED = sql.fragment`
  left join inbound_messages i on i.workspace_id = d.workspace_id and i.id = coalesce(d.answered_reply_id, d.reply_id)`;

const LISTED = sql.fragment`
  select d.*, ${SAID} answered_body, i.lead_id answered_lead_id, i.id answered_id from ai_drafts d ${ANSWERED}`;

export async function findListedDraft(db: TenantDb, id: string): Promise<ListedDraft | null> {
  const row = await db.maybeOne(sql.type(ListedRow)`
    ${LISTED} where d.workspace_id = ${db.workspaceId} and d.reply_id = ${id} and d.draft is not null`);
  return row && { ...row, id };
}

/** Newest first, starting after the draft `cursor`. */
export async function listDrafts(
  db: TenantDb,
  { status, address }: { status?: DraftStatus | undefined; address?: string | undefined },
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<ListedDraft[]> {
  const rows = await db.any(sql.type(ListedRow)`
    ${LISTED} where ${sql.and([
      sql.fragment`d.workspace_id = ${db.workspaceId} and d.draft is not null and ${isOffered}`,
      status !== undefined && sql.fragment`d.status = ${status}`,
      address !== undefined && sql.fragment`d.address = ${address}`,
      cursor !== undefined && sql.fragment`d.reply_id < ${cursor}`,
    ])}
    order by d.reply_id desc limit ${limit}`);
  return rows.map((row) => ({ ...row, id: row.replyId }));
}

/** The drafts to any of these addresses, by id, after `after`. */
export async function draftsTo(
  db: TenantDb,
  addresses: readonly string[],
  { limit, after }: { limit: number; after: string },
): Promise<ListedDraft[]> {
  const rows = await db.any(sql.type(ListedRow)`
    ${LISTED} where d.workspace_id = ${db.workspaceId} and d.draft is not null and d.reply_id > ${after}
      and d.address = any(${sql.array([...addresses], 'text')})
    order by d.reply_id limit ${limit}`);
  return rows.map((row) => ({ ...row, id: row.replyId }));
}

const ReplyIdRow = z.object({ replyId: z.string() });

/** The ids of the drafts to these addresses. */
export async function draftsOf(db: TenantDb, addresses: readonly string[]): Promise<readonly string[]> {
  return db.anyFirst(sql.type(ReplyIdRow)`
    select reply_id from ai_drafts
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')})`);
}

export const presentDraft = (row: ListedDraft): AutoReply => ({
  replyId: row.replyId,
  answeredReplyId: row.answeredId,
  source: row.source,
  status: row.status,
  draftMessage: row.draft,
  conversationRecipient: row.address,
  inboundText: row.answeredBody ?? '',
  leadId: row.leadId ?? row.answeredLeadId,
  confidence: row.confidence ?? 0,
  tags: row.tags,
  sentiment: row.sentiment,
  mode: 'copilot',
  approvalChannel: row.approvalChannel,
  resolvedBy: row.resolvedBy,
  heldBackBy: row.heldBackBy,
  messageId: row.messageId,
  version: row.version,
  hint: row.hint,
  formerVersions: row.formerVersions.map(({ draft, ...version }) => ({ ...version, draftMessage: draft })),
  retrying: row.status === 'drafted' && row.retryAt !== null,
  retryError: row.retryError,
  model: row.model,
  promptTokens: row.promptTokens,
  completionTokens: row.completionTokens,
  createdAt: row.createdAt.toISOString(),
  resolvedAt: row.resolvedAt?.toISOString() ?? null,
});

/** Whether the model has written as many drafts for the contact of a draft within the hour as it may. */
export async function isDraftedOften(db: TenantDb, replyId: string, now: Date): Promise<boolean> {
  const count = await db.oneFirst(sql.type(CountRow)`
    select count(*)::int count from ai_drafts d
    where d.workspace_id = ${db.workspaceId} and d.reply_id <> ${replyId} and d.model <> 'none'
      and d.created_at > ${sql.timestamp(now)} - interval '1 hour'
      and d.address = (
        select address from ai_drafts where workspace_id = ${db.workspaceId} and reply_id = ${replyId})`);
  return count >= DRAFTS_PER_HOUR;
}
