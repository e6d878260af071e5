import { sql } from 'slonik';
import { z } from 'zod';
import type { DraftOutput } from '#domain/drafts/draft-prompt.ts';
import type { DraftSource } from '#domain/events/ai-draft.ts';
import type { SignalName } from '#workflows/protocol/signals.ts';
import { aiDraftId } from '#workflows/protocol/workflow-ids.ts';
import { copilotDebounce } from '#db/queries/drafts/knowledge-base.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { DraftRow } from '#db/queries/drafts/ai-drafts.ts';
import type { InboundRow } from '#db/queries/inbox/replies.ts';
import { type Happening, triggerRules } from '#db/commands/inbox/rule-triggers.ts';
import { newTags } from '#domain/inbox/bulk-conversations.ts';
import { wake } from '#db/wakes/wakes.ts';
import type { HeldBackBy } from '#domain/drafts/autopilot.ts';
import { MAX_VERSIONS } from '#domain/drafts/ai-draft.ts';
import { Refusal } from '#domain/base/refusal.ts';

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
  await triggerRules(db, [aboutDraft(draft)], now);
  return draft;
}

type DraftSignal = Extract<
  SignalName,
  | 'contactWrote'
  | 'drafted'
  | 'approve'
  | 'reject'
  | 'markSent'
  | 'superseded'
  | 'suspicionChanged'
  | 'retryRequested'
>;

/** That a draft waits for a decision. */
export const aboutDraft = ({ source, replyId, answeredReplyId, address }: DraftRow): Happening => ({
  on: 'draft',
  address,
  lineId: null,
  replyId: source === 'copilot' ? replyId : answeredReplyId,
});

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
  now: Date,
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
  if (kept?.status === 'drafted' && kept.tags.length > 0) await addTags(db, kept, now);
  return kept;
}

/** Records why the autopilot leaves a draft to a person. */
export async function holdBack(db: TenantDb, replyId: string, reason: HeldBackBy): Promise<void> {
  await db.query(sql.type(NoRows)`
    update ai_drafts set held_back_by = ${reason} where workspace_id = ${db.workspaceId} and reply_id = ${replyId}`);
}

/**
 * Stores the version that somebody asked for, or why there is none; the draft stays as it was then. Requires the conversation's lock.
 * @returns null if it is not asked for any more, because somebody decided meanwhile, or if there is none.
 */
export async function storeVersion(
  db: TenantDb,
  replyId: string,
  use: ModelUse,
  answer: DraftOutput | { error: string },
): Promise<DraftRow | null> {
  const change =
    'error' in answer
      ? sql.fragment`retry_error = ${answer.error}`
      : sql.fragment`retry_error = null, version = version + 1, hint = retry_hint, draft = ${answer.draft},
          confidence = ${answer.confidence}, former_versions = former_versions || jsonb_build_array(jsonb_build_object(
            'version', version, 'draft', draft, 'confidence', coalesce(confidence, 0), 'hint', hint))`;
  const stored = await db.maybeOne(sql.type(DraftRow)`
    update ai_drafts set ${change}, retry_at = null, retry_hint = null, model = ${use.model},
      prompt_tokens = coalesce(prompt_tokens, 0) + ${use.promptTokens ?? 0},
      completion_tokens = coalesce(completion_tokens, 0) + ${use.completionTokens ?? 0}
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId} and status = 'drafted' and retry_at is not null
    returning *`);
  return 'error' in answer ? null : stored;
}

/**
 * Asks for another version of an open draft of the copilot. Requires the conversation's lock.
 * @throws Refusal: INVALID_STATE
 */
export async function retryDraft(
  db: TenantDb,
  { replyId, source, version }: DraftRow,
  hint: string | null,
  now: Date,
): Promise<void> {
  const refused = (text: string): Refusal => new Refusal('INVALID_STATE', null, text);
  if (source !== 'copilot') throw refused('Only the copilot writes another version');
  if (version >= MAX_VERSIONS) throw refused(`A draft has at most ${MAX_VERSIONS} versions`);
  if ((await copilotDebounce(db)) === null) throw refused('The copilot is off');
  await db.query(sql.type(NoRows)`
    update ai_drafts set retry_at = ${sql.timestamp(now)}, retry_hint = ${hint}, retry_error = null
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId} and status = 'drafted'`);
  wakeDraft(db, replyId, now, 'retryRequested');
}

/** Keeps the existing tags. */
async function addTags(db: TenantDb, { address, tags }: DraftRow, now: Date): Promise<void> {
  const before = await db.maybeOneFirst(sql.type(TagsRow)`
    select tags from conversations where workspace_id = ${db.workspaceId} and address = ${address}`);
  const added = newTags(before ?? [], tags);
  if (added.length === 0) return;
  await db.query(sql.type(NoRows)`
    update conversations set tags = tags || ${sql.array(added, 'text')}
    where workspace_id = ${db.workspaceId} and address = ${address}`);
  await triggerRules(db, [{ on: 'tag_added', address, lineId: null, tags: added }], now);
}

const TagsRow = z.object({ tags: z.array(z.string()) });

/** Supersedes the open draft that answers a reply which has no text to be answered any more. Requires the conversation's lock. */
export async function discardDraftOf(db: TenantDb, replyId: string, now: Date): Promise<void> {
  const superseded = await db.anyFirst(sql.type(ReplyIdRow)`
    update ai_drafts set status = 'superseded', resolved_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and source = 'copilot' and reply_id = ${replyId} and status in ('waiting', 'drafted')
    returning reply_id`);
  for (const id of superseded) wakeDraft(db, id, now, 'superseded');
}

/** Takes back the copilot's draft to a contact who may have asked to be left alone. Requires the conversation's lock. */
export async function holdDraft(db: TenantDb, address: string, now: Date): Promise<void> {
  const held = await db.anyFirst(sql.type(ReplyIdRow)`
    update ai_drafts set status = 'waiting', draft = null, retry_at = null, retry_hint = null
    where workspace_id = ${db.workspaceId} and address = ${address} and source = 'copilot' and status = 'drafted'
    returning reply_id`);
  for (const id of held) wakeDraft(db, id, now, 'suspicionChanged');
}

/**
 * Lets the copilot's draft to a contact be written, because they did not ask to be left alone.
 * @returns the draft that a person or a program wrote meanwhile; null: none.
 */
export async function releaseDraft(db: TenantDb, address: string, now: Date): Promise<DraftRow | null> {
  const open = await db.maybeOne(sql.type(DraftRow)`
    select * from ai_drafts
    where workspace_id = ${db.workspaceId} and address = ${address} and status in ('waiting', 'drafted')`);
  if (open?.status === 'waiting') wakeDraft(db, open.replyId, now, 'suspicionChanged');
  return open?.status === 'drafted' ? open : null;
}

/** Supersedes the draft that waits to be written to a contact who opts out. Requires the conversation's lock. */
export async function endWaitingDraft(db: TenantDb, address: string, now: Date): Promise<void> {
  const ended = await db.anyFirst(sql.type(ReplyIdRow)`
    update ai_drafts set status = 'superseded', resolved_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and address = ${address} and status = 'waiting'
    returning reply_id`);
  for (const id of ended) wakeDraft(db, id, now, 'superseded');
}

/** Discards a draft that is still waiting. */
export async function discardWaitingDraft(db: TenantDb, replyId: string, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update ai_drafts set status = 'superseded', resolved_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId} and status = 'waiting'`);
}
