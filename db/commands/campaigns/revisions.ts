import { sql } from 'slonik';
import { z } from 'zod';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import { wake } from '#db/wakes/wakes.ts';
import { campaignWorkflowId, personalizerId } from '#workflows/protocol/workflow-ids.ts';
import { stepTexts } from './campaign-entry.ts';
import { PERSONALIZATION } from './personalizations.ts';

/** Bringing what waits up to date with the steps of a campaign, which changed while it runs. */

/** When to look again at messages that were being sent: one that returns to the queue gets the new text. */
const SENDING_AGAIN_MS = 10_000;

/** Makes the next version of a campaign, whose steps have just changed. Its workflow brings up to date what waits. Requires `lockCampaign`. */
export async function reviseLater(db: TenantDb, campaignId: string, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update campaigns set version = version + 1, revised_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${campaignId}`);
  wake(db, campaignWorkflowId(campaignId), now, 'progressDue');
}

/**
 * Gives the next messages that were not sent yet the texts of the current version, and has the next leads that wait at a step be judged
 * by it. Requires `lockCampaign`.
 */
export async function reviseNext(
  db: TenantDb,
  campaign: CampaignRow,
  limit: number,
  now: Date,
): Promise<void> {
  const { id, version, revisedAt } = campaign;
  if (revisedAt === null) return;
  const messages = await reviseMessages(db, campaign, limit, now);
  const leads = await judgeAgain(db, campaign, limit, now);
  if (messages === limit || leads === limit) return;
  const areSent = await db.exists(sql.type(NoRows)`
    select from messages where workspace_id = ${db.workspaceId} and campaign_id = ${id} and status = 'sending'
      and coalesce(campaign_version, 1) < ${version}`);
  const again = areSent ? sql.timestamp(new Date(now.getTime() + SENDING_AGAIN_MS)) : sql.fragment`null`;
  await db.query(sql.type(NoRows)`
    update campaigns set revised_at = ${again} where workspace_id = ${db.workspaceId} and id = ${id}`);
}

async function reviseMessages(
  db: TenantDb,
  { id, version, steps, needsAiPersonalization }: CampaignRow,
  limit: number,
  now: Date,
): Promise<number> {
  const revised = await db.anyFirst(sql.type(IdRow)`
    with next as materialized (
      select id from messages
      where workspace_id = ${db.workspaceId} and campaign_id = ${id} and status in ('pending', 'scheduled')
        and coalesce(campaign_version, 1) < ${version}
      order by id limit ${limit} for no key update
    ), ${stepTexts(steps)}
    update messages m set campaign_version = ${version}, updated_at = now(), body = coalesce(s.body, m.body), subject = s.subject,
      attachment_urls = s.attachment_urls, sms_fallback_enabled = s.sms_fallback_enabled, sms_fallback_message = s.sms_fallback_message
    from next join messages o on o.workspace_id = ${db.workspaceId} and o.id = next.id
    join steps s on s.step_index = o.step_index and s.variant is not distinct from o.variant
    where m.workspace_id = ${db.workspaceId} and m.id = next.id
    returning m.id`);
  if (needsAiPersonalization && revised.length > 0) await rewrite(db, id, revised, now);
  return revised.length;
}

const MessageIdRow = z.object({ messageId: z.string() });

/** Has the model write messages again that it has written. */
async function rewrite(
  db: TenantDb,
  campaignId: string,
  messageIds: readonly string[],
  now: Date,
): Promise<void> {
  const again = await db.anyFirst(sql.type(MessageIdRow)`
    update personalizations set status = 'waiting', error = null, due_at = ${sql.timestamp(now)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and message_id = any(${sql.array([...messageIds], 'text')}) and status <> 'waiting'
    returning message_id`);
  if (again.length === 0) return;
  await db.query(sql.type(NoRows)`
    update messages set held = true, hold_reason = ${PERSONALIZATION}
    where workspace_id = ${db.workspaceId} and id = any(${sql.array([...again], 'text')}) and not held`);
  wake(db, personalizerId(campaignId), now, 'personalizationsDue');
}

async function judgeAgain(
  db: TenantDb,
  { id, revisedAt }: CampaignRow,
  limit: number,
  now: Date,
): Promise<number> {
  if (revisedAt === null) return 0;
  const { rowCount } = await db.query(sql.type(NoRows)`
    update campaign_leads set due_at = ${sql.timestamp(now)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id = any(array(
      select lead_id from campaign_leads
      where workspace_id = ${db.workspaceId} and campaign_id = ${id} and state = 'running' and due_at is not null
        and step_id is not null and paused_at is null and due_at > ${sql.timestamp(now)}
        and updated_at < ${sql.timestamp(revisedAt)}
      order by lead_id limit ${limit} for no key update))`);
  return rowCount;
}
