import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';

/** Of campaigns: leads wait in them until something is known, or stop when it is. */
const AWAITS_FACTS = sql.fragment`(jsonb_path_exists(steps, '$.**.kind ? (@ == "wait_until")') or stop_when <> '[]')`;
/** Of campaigns: what stops their leads. */
const STOPS = sql.fragment`campaign_id in (
  select id from campaigns c where c.workspace_id = campaign_leads.workspace_id and stop_when <> '[]')`;

const CampaignIdRow = z.object({ campaignId: z.string() });

/**
 * Has campaigns look at leads about which something changed that conditions may ask about, in the transaction of the change. Finds
 * what may be concerned by indexes; a workspace without a live campaign pays for one look.
 */
export async function followLeadChanges(db: TenantDb, leadIds: readonly string[], now: Date): Promise<void> {
  if (leadIds.length === 0) return;
  await lookAgain(db, sql.fragment`lead_id = any(${sql.array([...leadIds], 'text')})`, now);
  const campaigns = await db.anyFirst(sql.type(CampaignIdRow)`
    insert into campaign_candidates (workspace_id, campaign_id, lead_id)
    select c.workspace_id, c.id, l.id
    from campaigns c cross join ${sql.unnest(
      leadIds.map((id) => [id]),
      ['text'],
    )} as l (id)
    where c.workspace_id = ${db.workspaceId} and c.segment_id is not null and c.audience = 'live'
      and c.status in ('active', 'paused') and c.deleted_at is null and not exists (
        select from campaign_leads e
        where e.workspace_id = ${db.workspaceId} and e.campaign_id = c.id and e.lead_id = l.id)
    on conflict do nothing returning campaign_id`);
  for (const id of new Set(campaigns)) wake(db, campaignWorkflowId(id), now, 'leadsAdded');
}

/**
 * Lets leads continue whose step waits for a fact. Locks their sequences in order, also of those that are on their way to such a step,
 * and reads where they are under the lock: whoever lets them go there has not seen what changes now.
 */
async function lookAgain(db: TenantDb, who: FragmentSqlToken, now: Date): Promise<void> {
  const campaigns = await db.anyFirst(sql.type(CampaignIdRow)`
    with locked as materialized (
      select campaign_id, lead_id, paused_at is null and (is_awaiting or (step_id is null and ${STOPS})) looks from campaign_leads
      where workspace_id = ${db.workspaceId} and ${who} and state = 'running' and campaign_id in (
        select id from campaigns where workspace_id = ${db.workspaceId} and status in ('active', 'paused') and ${AWAITS_FACTS})
      order by campaign_id, lead_id for no key update
    )
    update campaign_leads l set due_at = ${sql.timestamp(now)} from locked a
    where l.workspace_id = ${db.workspaceId} and l.campaign_id = a.campaign_id and l.lead_id = a.lead_id and a.looks
    returning l.campaign_id`);
  for (const id of new Set(campaigns)) wake(db, campaignWorkflowId(id), now, 'progressDue');
}

/** Like `followLeadChanges`, for what a carrier says about messages. Call it before they are changed. */
export const followMessageChanges = (db: TenantDb, messageIds: readonly string[], now: Date): Promise<void> =>
  lookAgain(
    db,
    sql.fragment`(campaign_id, lead_id) in (
      select campaign_id, lead_id from messages where workspace_id = ${db.workspaceId} and id = any(${sql.array([...messageIds], 'text')}))`,
    now,
  );

const LeadIdRow = z.object({ leadId: z.string() });

/** Like `followLeadChanges`, for all leads with an address. */
export async function followContactChanges(db: TenantDb, address: string, now: Date): Promise<void> {
  const ids = await db.anyFirst(sql.type(LeadIdRow)`
    select distinct lead_id from list_addresses where workspace_id = ${db.workspaceId} and address = ${address}`);
  await followLeadChanges(db, ids, now);
}
