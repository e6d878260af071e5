import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import type { PersonalizationProgress } from '#domain/campaigns/personalization.ts';
import { keepPausedAmong } from './lead-pauses.ts';
import { personalizerId } from '#workflows/protocol/workflow-ids.ts';
import type { ModelUse } from '#db/commands/drafts/ai-drafts.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { AtRow, NoRows } from '#db/connection/rows.ts';
import { lockSequences } from '#db/queries/sending/message-locks.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

/** The `holdReason` of messages that wait for the model. */
export const PERSONALIZATION = 'personalization';

/** How long before its scheduled time a message is written, so that a slow model does not delay it. */
const AHEAD_MS = 10 * 60_000;

const DueAtRow = z.object({ dueAt: z.date() });

/**
 * Schedules held messages for personalization.
 * @param messages a query for `message_id` and `at`, the time when each is due.
 */
export async function personalize(
  db: TenantDb,
  campaign: { id: string; status: string },
  messages: FragmentSqlToken,
  now: Date,
): Promise<void> {
  const added = await db.anyFirst(sql.type(DueAtRow)`
    insert into personalizations (workspace_id, message_id, campaign_id, due_at)
    select ${db.workspaceId}, m.message_id, ${campaign.id},
      greatest(m.at - make_interval(secs => ${AHEAD_MS / 1000}), ${sql.timestamp(now)})
    from (${messages}) m
    on conflict do nothing returning due_at`);
  if (campaign.status !== 'active') return;
  for (const dueAt of added) wake(db, personalizerId(campaign.id), dueAt, 'personalizationsDue');
}

const DueRow = MessageRow.pick({ id: true, leadId: true, body: true });
export type DueMessage = z.infer<typeof DueRow>;

/** The messages of a campaign that are due to be written. Drops those that were canceled. */
export async function duePersonalizations(
  db: TenantDb,
  campaignId: string,
  now: Date,
  limit: number,
): Promise<DueMessage[]> {
  const waiting = sql.fragment`p.workspace_id = ${db.workspaceId} and p.campaign_id = ${campaignId} and p.status = 'waiting'
    and p.due_at <= ${sql.timestamp(now)} and m.workspace_id = p.workspace_id and m.id = p.message_id`;
  await db.query(sql.type(NoRows)`
    delete from personalizations p using messages m where ${waiting} and m.status not in ('pending', 'scheduled')`);
  const rows = await db.any(sql.type(DueRow)`
    select m.id, m.lead_id, m.body from personalizations p join messages m on ${waiting}
    order by p.due_at, m.arrival limit ${limit}`);
  return [...rows];
}

/** When the next message is due to be written; null if none is waiting. */
export async function nextPersonalization(db: TenantDb, campaignId: string): Promise<Date | null> {
  return db.oneFirst(sql.type(AtRow)`
    select min(due_at) "at" from personalizations
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and status = 'waiting'`);
}

const Released = MessageRow.pick({ lineId: true, scheduledAt: true }).extend({ isNew: z.boolean() });

/**
 * Queues a message with the text that the model wrote, or with its template and the reason for that.
 * @param message as the model got it. If its template was edited meanwhile, the model writes it again.
 * @returns null if the message is no longer waiting, because it was canceled, or still waits.
 */
export async function releasePersonalized(
  db: TenantDb,
  { id: messageId, body }: Pick<DueMessage, 'id' | 'body'>,
  use: ModelUse,
  written: { text: string } | { error: string },
): Promise<z.infer<typeof Released> | null> {
  const failed = 'error' in written;
  // Its lead may be being paused.
  await lockSequences(db, [messageId]);
  const { rowCount } = await db.query(sql.type(NoRows)`
    update personalizations set status = ${failed ? 'failed' : 'written'}, error = ${failed ? written.error : null},
      model = ${use.model}, prompt_tokens = ${use.promptTokens}, completion_tokens = ${use.completionTokens}, updated_at = now()
    where workspace_id = ${db.workspaceId} and message_id = ${messageId} and status = 'waiting' and not exists (
      select from messages where workspace_id = ${db.workspaceId} and id = ${messageId} and body <> ${body})`);
  if (rowCount === 0) return null;
  const released = await db.maybeOne(sql.type(Released)`
    update messages set held = false, hold_reason = null, updated_at = now(), body = ${failed ? sql.fragment`body` : sql.fragment`${written.text}`}
    where workspace_id = ${db.workspaceId} and id = ${messageId} and held and status in ('pending', 'scheduled')
    returning line_id, scheduled_at, is_new`);
  if (released) await keepPausedAmong(db, [messageId]);
  return released;
}

const PersonalizationRow = z.object({
  waiting: z.int(),
  written: z.int(),
  failed: z.int(),
  promptTokens: z.int(),
  completionTokens: z.int(),
  lastError: z.string().nullable(),
});

export async function personalizationProgress(
  db: TenantDb,
  campaignId: string,
): Promise<PersonalizationProgress> {
  return db.one(sql.type(PersonalizationRow)`
    select count(*) filter (where status = 'waiting') waiting, count(*) filter (where status = 'written') written,
      count(*) filter (where status = 'failed') failed, coalesce(sum(prompt_tokens), 0) prompt_tokens,
      coalesce(sum(completion_tokens), 0) completion_tokens,
      (select error from personalizations where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId}
        and status = 'failed' order by updated_at desc limit 1) last_error
    from personalizations where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId}`);
}
