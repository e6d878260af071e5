import { sql } from 'slonik';
import { z } from 'zod';
import { type AutoReply, DraftStatus, DraftTag, Sentiment, StoredDraftStatus } from '#domain/ai-draft.ts';
import type { DraftOutput } from '#domain/draft-prompt.ts';
import { ApprovalChannel, DraftSource } from '#domain/events/ai-draft.ts';
import type { SignalName } from '#workflows/messages/signals.ts';
import { aiDraftId } from '#workflows/messages/wake.ts';
import { copilotDebounce } from '#db/queries/knowledge-base.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';
import { findReply, type InboundRow } from '#db/queries/replies.ts';
import { wake } from '#db/wakes.ts';

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

/**
 * Supersedes the open draft of the conversation, and schedules one for the new reply if the copilot is on. An opt-out or
 * a reply without text gets no draft. Requires the conversation's lock.
 */
export async function draftForReply(
  db: TenantDb,
  reply: Pick<InboundRow, 'id' | 'address' | 'body' | 'keyword'>,
  now: Date,
): Promise<void> {
  const superseded = await supersedeOpen(db, reply.address, now);
  const started =
    reply.keyword === 'stop' || reply.body.trim() === '' ? null : await insertDraft(db, reply, now);
  if (superseded !== null) wakeDraft(db, superseded, now, 'superseded');
  // Started now, although the draft is due later, so that operators can see it.
  if (started !== null) wakeDraft(db, started, now, 'contactWrote');
}

const ReplyIdRow = z.object({ replyId: z.string() });

async function supersedeOpen(db: TenantDb, address: string, now: Date): Promise<string | null> {
  return db.maybeOneFirst(sql.type(ReplyIdRow)`
    update ai_drafts set status = 'superseded', resolved_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and address = ${address} and status in ('waiting', 'drafted')
    returning reply_id`);
}

async function insertDraft(
  db: TenantDb,
  { id, address }: Pick<InboundRow, 'id' | 'address'>,
  now: Date,
): Promise<string | null> {
  const debounce = await copilotDebounce(db);
  if (debounce === null) return null;
  const dueAt = new Date(now.getTime() + debounce * 1000);
  await db.query(sql.type(NoRows)`
    insert into ai_drafts (workspace_id, reply_id, address, due_at, created_at)
    values (${db.workspaceId}, ${id}, ${address}, ${sql.timestamp(dueAt)}, ${sql.timestamp(now)})`);
  return id;
}

/** A draft that a person or a program wrote. */
interface WrittenDraft {
  id: string;
  source: Exclude<DraftSource, 'copilot'>;
  address: string;
  /** The reply that it answers; null: none. */
  answeredReplyId: string | null;
  leadId: string | null;
  text: string;
}

/** Stores a draft for review, which supersedes the open one of the conversation. Requires the conversation's lock. */
export async function insertWrittenDraft(
  db: TenantDb,
  { id, source, address, answeredReplyId, leadId, text }: WrittenDraft,
  now: Date,
): Promise<DraftRow> {
  const superseded = await supersedeOpen(db, address, now);
  const draft = await db.one(sql.type(DraftRow)`
    insert into ai_drafts (workspace_id, reply_id, source, address, answered_reply_id, lead_id, status, draft, due_at,
      created_at)
    values (${db.workspaceId}, ${id}, ${source}, ${address}, ${answeredReplyId}, ${leadId}, 'drafted', ${text},
      ${sql.timestamp(now)}, ${sql.timestamp(now)})
    returning *`);
  if (superseded !== null) wakeDraft(db, superseded, now, 'superseded');
  wakeDraft(db, id, now, 'drafted');
  return draft;
}

type DraftSignal = Extract<
  SignalName,
  'contactWrote' | 'drafted' | 'approve' | 'reject' | 'markSent' | 'superseded'
>;

/** Wakes the workflow of a draft. */
export const wakeDraft = (db: TenantDb, replyId: string, now: Date, signal: DraftSignal): void =>
  wake(db, aiDraftId(replyId), now, signal);

/** The token usage of a model call, recorded even if its draft is not used. */
export interface ModelUse {
  model: string;
  promptTokens: number | null;
  completionTokens: number | null;
}

/**
 * Stores the model's draft, or the reason for its failure. Requires the conversation's lock.
 * @returns null if the draft is no longer waiting, because a newer reply came or somebody answered.
 */
export async function storeDraft(
  db: TenantDb,
  replyId: string,
  use: ModelUse,
  answer: DraftOutput | { error: string },
): Promise<DraftRow | null> {
  await db.query(sql.type(NoRows)`
    update ai_drafts set model = ${use.model}, prompt_tokens = ${use.promptTokens}, completion_tokens = ${use.completionTokens}
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId}`);
  const change =
    'error' in answer
      ? sql.fragment`status = 'failed', error = ${answer.error}`
      : sql.fragment`status = 'drafted', draft = ${answer.draft}, confidence = ${answer.confidence},
          tags = ${sql.array(answer.tags, 'text')}, sentiment = ${answer.sentiment}`;
  const kept = await db.maybeOne(sql.type(DraftRow)`
    update ai_drafts set ${change}
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId} and status = 'waiting' returning *`);
  if (kept?.status === 'drafted' && kept.tags.length > 0) await addTags(db, kept);
  return kept;
}

/** Keeps the existing tags. */
async function addTags(db: TenantDb, { address, tags }: DraftRow): Promise<void> {
  await db.query(sql.type(NoRows)`
    update conversations set tags = conversations.tags || array(
      select t from unnest(${sql.array(tags, 'text')}) t where t <> all (conversations.tags))
    where workspace_id = ${db.workspaceId} and address = ${address}`);
}

/** Discards a draft that is still waiting. */
export async function discardWaitingDraft(db: TenantDb, replyId: string, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update ai_drafts set status = 'superseded', resolved_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId} and status = 'waiting'`);
}

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
  select d.*, i.body answered_body, i.lead_id answered_lead_id, i.id answered_id from ai_drafts d ${ANSWERED}`;

export async function findListedDraft(db: TenantDb, id: string): Promise<ListedDraft | null> {
  const row = await db.maybeOne(sql.type(ListedRow)`
    ${LISTED} where d.workspace_id = ${db.workspaceId} and d.reply_id = ${id} and d.draft is not null`);
  return row && { ...row, id };
}

/** Newest first, starting after the draft `cursor`. */
export async function listDrafts(
  db: TenantDb,
  status: DraftStatus | undefined,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<ListedDraft[]> {
  const rows = await db.any(sql.type(ListedRow)`
    ${LISTED} where ${sql.and([
      sql.fragment`d.workspace_id = ${db.workspaceId} and d.draft is not null`,
      status !== undefined && sql.fragment`d.status = ${status}`,
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
  messageId: row.messageId,
  model: row.model,
  promptTokens: row.promptTokens,
  completionTokens: row.completionTokens,
  createdAt: row.createdAt.toISOString(),
  resolvedAt: row.resolvedAt?.toISOString() ?? null,
});
