import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import { wake, wakeLines } from '#db/wakes/wakes.ts';
import { stopWhenMet } from './stop-conditions.ts';
import type { CampaignLead } from '#domain/campaigns/campaign-lead.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';

/** Leads that get nothing of a campaign for a while. Their next message leaves the queue of its line and keeps its time. */

/** The `holdReason` of the next message of a paused lead. */
export const LEAD_PAUSED = 'lead_paused';

interface Pause {
  reason: NonNullable<CampaignLead['pauseReason']>;
  /** null: until somebody lets them continue. */
  until: Date | null;
  /** The automatic reply in which the model is to find until when. */
  returnReplyId?: string | null;
}

const PausedRow = z.object({ campaignId: z.string(), leadId: z.string() });

/**
 * Pauses the sequences of all leads with an address: by a reply those of campaigns that ask for it, by an absence all but those that wait
 * for longer already. Requires `lockContact`.
 * @returns whether there were any.
 */
export async function pauseContact(
  db: TenantDb,
  address: string,
  pausing: Pause & { reason: 'reply' | 'out_of_office' },
  now: Date,
): Promise<boolean> {
  const isReply = pausing.reason === 'reply';
  const campaigns = isReply ? sql.fragment`and pause_on_reply and not stop_on_reply` : sql.fragment``;
  const endsPause = isReply
    ? sql.fragment``
    : sql.fragment`and (paused_at is null or resumes_at < ${pausing.until && sql.timestamp(pausing.until)}
        or (pause_reason = 'out_of_office' and resumes_at is not null))`;
  return pause(
    db,
    sql.fragment`lead_id in (
        select lead_id from list_addresses where workspace_id = ${db.workspaceId} and address = ${address}
        union
        select lead_id from messages
        where workspace_id = ${db.workspaceId} and address = ${address} and campaign_id is not null)
      and campaign_id in (select id from campaigns where workspace_id = ${db.workspaceId} ${campaigns}) ${endsPause}`,
    pausing,
    now,
  );
}

/** Pauses a lead in a campaign, or changes when it goes on. Requires the lock of its sequence. @returns whether it runs. */
export const pauseLead = (
  db: TenantDb,
  campaignId: string,
  leadId: string,
  until: Date | null,
  now: Date,
): Promise<boolean> =>
  pause(
    db,
    sql.fragment`campaign_id = ${campaignId} and lead_id = ${leadId}`,
    { reason: 'member', until },
    now,
  );

async function pause(
  db: TenantDb,
  who: FragmentSqlToken,
  { reason, until, returnReplyId = null }: Pause,
  now: Date,
): Promise<boolean> {
  const at = until === null ? sql.fragment`null::timestamptz` : sql.timestamp(until);
  const paused = await db.any(sql.type(PausedRow)`
    update campaign_leads set paused_at = coalesce(paused_at, ${sql.timestamp(now)}),
      pause_reason = case when ${reason} = 'member' then coalesce(pause_reason, ${reason}) else ${reason} end,
      resumes_at = ${at}, due_at = ${at}, return_reply_id = ${returnReplyId}, updated_at = now()
    where workspace_id = ${db.workspaceId} and state = 'running' and ${who}
    returning campaign_id, lead_id`);
  const rows = paused.map(({ campaignId, leadId }) => [campaignId, leadId]);
  if (rows.length === 0) return false;
  await db.query(sql.type(NoRows)`
    update messages m set held = true, hold_reason = ${LEAD_PAUSED}, updated_at = now()
    from ${sql.unnest(rows, ['text', 'text'])} as p (campaign_id, lead_id)
    where m.workspace_id = ${db.workspaceId} and m.campaign_id = p.campaign_id and m.lead_id = p.lead_id
      and m.status in ('pending', 'scheduled') and not m.held`);
  if (until !== null)
    for (const id of new Set(paused.map(({ campaignId }) => campaignId)))
      wake(db, campaignWorkflowId(id), until, 'progressDue');
  return true;
}

/**
 * Has the leads go on whose return the model was to find, at another time than was assumed. Requires `lockContact`.
 * @param until null: the model has found none.
 */
export async function applyReturn(
  db: TenantDb,
  replyId: string,
  until: Date | null,
  now: Date,
): Promise<void> {
  const awaited = sql.fragment`return_reply_id = ${replyId}`;
  if (until !== null) await pause(db, awaited, { reason: 'out_of_office', until }, now);
  await db.query(sql.type(NoRows)`
    update campaign_leads set return_reply_id = null where workspace_id = ${db.workspaceId} and ${awaited}`);
}

const LeadIdRow = z.object({ leadId: z.string() });
const QueuedRow = z.object({ lineId: z.string().nullable(), scheduledAt: z.date() });

/** Lets a paused lead continue now. Requires the lock of its sequence. */
export const resumeLead = (db: TenantDb, campaign: CampaignRow, leadId: string, now: Date): Promise<number> =>
  resume(db, campaign, sql.fragment`lead_id = ${leadId}`, 1, now);

/** Lets the paused leads of a campaign continue whose time has come. Requires `lockCampaign`. @returns how many. */
export const resumeDue = (db: TenantDb, campaign: CampaignRow, limit: number, now: Date): Promise<number> =>
  resume(
    db,
    campaign,
    sql.fragment`due_at <= ${sql.timestamp(now)} and resumes_at <= ${sql.timestamp(now)}`,
    limit,
    now,
  );

async function resume(
  db: TenantDb,
  campaign: CampaignRow,
  who: FragmentSqlToken,
  limit: number,
  now: Date,
): Promise<number> {
  const { id, status, version } = campaign;
  const resumed = await db.anyFirst(sql.type(LeadIdRow)`
    with locked as materialized (
      select lead_id from campaign_leads
      where workspace_id = ${db.workspaceId} and campaign_id = ${id} and state = 'running' and paused_at is not null and ${who}
      order by lead_id limit ${limit} for no key update
    )
    update campaign_leads l set paused_at = null, pause_reason = null, resumes_at = null, return_reply_id = null, updated_at = now(),
      due_at = case when step_id is not null or version < ${version} then ${sql.timestamp(now)} end
    from locked where l.workspace_id = ${db.workspaceId} and l.campaign_id = ${id} and l.lead_id = locked.lead_id
    returning l.lead_id`);
  if (resumed.length === 0) return 0;
  await stopWhenMet(db, campaign, resumed, now);
  const queued = await db.any(sql.type(QueuedRow)`
    update messages set held = false, hold_reason = null, scheduled_at = greatest(scheduled_at, ${sql.timestamp(now)}), updated_at = now()
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id = any(${sql.array([...resumed], 'text')})
      and status in ('pending', 'scheduled') and held and hold_reason = ${LEAD_PAUSED}
      -- Others are released when they are up to date.
      and lead_id in (select lead_id from campaign_leads
        where workspace_id = ${db.workspaceId} and campaign_id = ${id} and version = ${version})
    returning line_id, scheduled_at`);
  if (status === 'active') {
    wakeLines(db, queued);
    wake(db, campaignWorkflowId(id), now, 'progressDue');
  }
  return resumed.length;
}

/** Keeps those of these messages out of their lines' queues whose hold has ended, but not the pause of their leads. Requires `lockSequences`. */
export async function keepPausedAmong(db: TenantDb, messageIds: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages m set held = true, hold_reason = ${LEAD_PAUSED}, updated_at = now()
    from campaign_leads l
    where m.workspace_id = ${db.workspaceId} and m.id = any(${sql.array([...messageIds], 'text')})
      and m.status in ('pending', 'scheduled') and not m.held
      and l.workspace_id = m.workspace_id and l.campaign_id = m.campaign_id and l.lead_id = m.lead_id
      and l.state = 'running' and l.paused_at is not null`);
}

const PausedAtRow = z.object({ isPaused: z.boolean() });

/** Keeps a message of a paused lead out of its line's queue, to which it returned or was to be added. Requires `lockSequences`. @returns whether the lead is paused. */
export async function keepPaused(
  db: TenantDb,
  { campaignId, leadId }: { campaignId: string; leadId: string },
  messageId: string,
  at: Date | null,
): Promise<boolean> {
  const isPaused = await db.maybeOneFirst(sql.type(PausedAtRow)`
    select paused_at is not null is_paused from campaign_leads
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = ${leadId} and state = 'running'`);
  if (!isPaused) return false;
  await db.query(sql.type(NoRows)`
    update messages set held = true, hold_reason = ${LEAD_PAUSED}, updated_at = now(), status = 'scheduled',
      scheduled_at = ${at === null ? sql.fragment`scheduled_at` : sql.timestamp(at)}
    where workspace_id = ${db.workspaceId} and id = ${messageId} and status in ('pending', 'scheduled')`);
  return true;
}
