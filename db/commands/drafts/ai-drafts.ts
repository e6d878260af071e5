import { sql } from 'slonik';
import { z } from 'zod';
import { type AutoReply, DraftStatus, DraftTag, Sentiment, StoredDraftStatus } from '#domain/ai-draft.ts';
import type { DraftOutput } from '#domain/draft-prompt.ts';
import { ApprovalChannel } from '#domain/events/ai-draft.ts';
import type { SignalName } from '#workflows/messages/signals.ts';
import { aiDraftId } from '#workflows/messages/wake.ts';
import { copilotDebounce } from '#db/queries/knowledge-base.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';
import type { InboundRow } from '#db/queries/replies.ts';
import { wake } from '#db/wakes.ts';

export const DraftRow = z.object({
  replyId: z.string(),
  workspaceId: z.string(),
  address: z.string(),
  status: StoredDraftStatus,
  dueAt: z.date(),
  draft: z.string().nullable(),
  confidence: z.number().nullable(),
  tags: z.array(DraftTag),
  sentiment: Sentiment.nullable(),
  approvalChannel: ApprovalChannel.nullable(),
  /** As `shownActor` names them. */
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

type DraftSignal = Extract<SignalName, 'contactWrote' | 'approve' | 'reject' | 'markSent' | 'superseded'>;

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

/** Discards a waiting draft. @returns false if it is no longer waiting. */
export async function discardWaitingDraft(db: TenantDb, replyId: string, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update ai_drafts set status = 'superseded', resolved_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId} and status = 'waiting'`);
  return rowCount > 0;
}

const ListedRow = DraftRow.extend({
  status: DraftStatus,
  draft: z.string(),
  confidence: z.number(),
  body: z.string(),
  leadId: z.string().nullable(),
});
export type ListedDraft = z.infer<typeof ListedRow> & { id: string };

const LISTED = sql.fragment`
  select d.*, i.body, i.lead_id
  from ai_drafts d join inbound_messages i on i.workspace_id = d.workspace_id and i.id = d.reply_id`;

/** Newest first, starting after the reply `cursor`. */
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

/** The drafts to any of these addresses, by reply, after the reply `after`. */
export async function draftsTo(
  db: TenantDb,
  addresses: readonly string[],
  { limit, after }: { limit: number; after: string },
): Promise<ListedDraft[]> {
  const rows = await db.any(sql.type(ListedRow)`
    ${LISTED} where d.workspace_id = ${db.workspaceId} and d.draft is not null and d.reply_id > ${after}
      and i.address = any(${sql.array([...addresses], 'text')})
    order by d.reply_id limit ${limit}`);
  return rows.map((row) => ({ ...row, id: row.replyId }));
}

/** The replies with drafts to these addresses. */
export async function draftsOf(db: TenantDb, addresses: readonly string[]): Promise<readonly string[]> {
  return db.anyFirst(sql.type(ReplyIdRow)`
    select reply_id from ai_drafts
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')})`);
}

export const presentDraft = (row: ListedDraft): AutoReply => ({
  replyId: row.replyId,
  status: row.status,
  draftMessage: row.draft,
  conversationRecipient: row.address,
  inboundText: row.body,
  leadId: row.leadId,
  confidence: row.confidence,
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
