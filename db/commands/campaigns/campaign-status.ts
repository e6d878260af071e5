import { sql } from 'slonik';
import type { CampaignStatus } from '#domain/campaign.ts';
import { campaignWorkflowId } from '#workflows/messages/wake.ts';
import { wakeLines } from './campaign-entry.ts';
import { CampaignRow } from '#db/queries/campaigns.ts';
import { MessageRow } from '#db/queries/messages.ts';
import { wakePersonalizer } from './personalizations.ts';
import { Nothing, type TenantDb } from '#db/pool.ts';
import { requestWake } from '#db/wakes.ts';

/** The ways between a campaign's states; every one of them under the campaign's lock (`lockCampaign`). */
const FROM = {
  start: ['draft'],
  pause: ['active'],
  resume: ['paused'],
  archive: ['draft', 'active', 'paused', 'completed'],
} as const satisfies Record<string, readonly CampaignStatus[]>;
export type CampaignAction = keyof typeof FROM;

export const canTake = (action: CampaignAction, status: CampaignStatus): boolean =>
  (FROM[action] as readonly CampaignStatus[]).includes(status);

/**
 * Starts, pauses, resumes or archives a campaign whose lock the caller holds. One row changes, however many messages
 * it has: none leaves unless its campaign is active (`letGo` in queue.ts). What an archived campaign leaves behind
 * its workflow clears away.
 * @returns the campaign as it is now, and the workflows to wake after the commit.
 */
export async function changeCampaignStatus(
  db: TenantDb,
  { id, listId, needsAiPersonalization }: CampaignRow,
  action: CampaignAction,
  now: Date,
): Promise<{ campaign: CampaignRow; wakes: string[] }> {
  const change = {
    start: sql.fragment`status = 'active', started_at = now(), entered_all = ${listId === null}`,
    pause: sql.fragment`status = 'paused'`,
    resume: sql.fragment`status = 'active'`,
    archive: sql.fragment`status = 'archived'`,
  }[action];
  await setStatus(db, id, change);
  const runs = action === 'start' || action === 'resume';
  const wakes = runs ? await wakeCampaignLines(db, id) : [];
  if (runs && needsAiPersonalization) wakes.push(...(await wakePersonalizer(db, id, now)));
  const campaign = await db.one(sql.type(CampaignRow)`
    select * from campaigns where workspace_id = ${db.workspaceId} and id = ${id}`);
  return { campaign, wakes: [...wakes, ...(await wakeCampaign(db, id, now))] };
}

async function wakeCampaign(db: TenantDb, id: string, at: Date): Promise<string[]> {
  const workflow = campaignWorkflowId(id);
  return (await requestWake(db, workflow, at)) ? [workflow] : [];
}

async function setStatus(db: TenantDb, id: string, change: ReturnType<typeof sql.fragment>): Promise<void> {
  await db.query(sql.type(Nothing)`
    update campaigns set ${change}, updated_at = now() where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** A completed campaign runs again when a lead is added to it. */
export async function reopenCampaign(db: TenantDb, id: string): Promise<void> {
  await setStatus(db, id, sql.fragment`status = 'active', completed_at = null`);
}

/** Ends a campaign whose lock the caller holds. */
export async function completeCampaign(db: TenantDb, id: string): Promise<void> {
  await setStatus(db, id, sql.fragment`status = 'completed', completed_at = now()`);
}

const unsent = (db: TenantDb, id: string) =>
  sql.fragment`workspace_id = ${db.workspaceId} and campaign_id = ${id} and status in ('pending', 'scheduled')`;

async function wakeCampaignLines(db: TenantDb, id: string): Promise<string[]> {
  const lines = await db.any(sql.type(MessageRow.pick({ lineId: true, scheduledAt: true }))`
    select line_id, min(scheduled_at) scheduled_at from messages where ${unsent(db, id)} and not held group by line_id`);
  return wakeLines(db, lines);
}

/**
 * Cancels some of what a campaign that is over or gone has not sent.
 * @returns how many messages were canceled; fewer than `limit`: none is left.
 */
export async function clearMessages(db: TenantDb, id: string, limit: number): Promise<number> {
  const { rowCount } = await db.query(sql.type(Nothing)`
    update messages set status = 'canceled', held = false, hold_reason = 'campaign_ended', updated_at = now()
    where workspace_id = ${db.workspaceId} and id = any(array(select id from messages where ${unsent(db, id)} limit ${limit}))
      and status in ('pending', 'scheduled')`);
  return rowCount;
}

/**
 * Clears away the next part of what a campaign leaves behind that is archived or deleted: first what is not sent, then
 * whoever is under way in it, then what a deleted one holds, and itself.
 * @returns true when nothing is left to do.
 */
export async function clearCampaign(db: TenantDb, id: string, limit: number): Promise<boolean> {
  if ((await clearMessages(db, id, limit)) === limit) return false;
  if ((await clearLeads(db, id, limit)) === limit) return false;
  const isDeleted = await db.exists(sql.type(Nothing)`
    select 1 from campaigns where workspace_id = ${db.workspaceId} and id = ${id} and deleted_at is not null`);
  if (!isDeleted) return true;
  for (const table of ['personalizations', 'campaign_leads'])
    if ((await deleteRows(db, table, id, limit)) === limit) return false;
  await db.query(
    sql.type(Nothing)`delete from campaigns where workspace_id = ${db.workspaceId} and id = ${id}`,
  );
  return true;
}

/** Whoever was under way in a campaign that is over goes no further. */
async function clearLeads(db: TenantDb, id: string, limit: number): Promise<number> {
  const { rowCount } = await db.query(sql.type(Nothing)`
    update campaign_leads set state = 'stopped', stop_reason = 'removed', updated_at = now()
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} and state = 'running' and lead_id = any(array(
      select lead_id from campaign_leads
      where workspace_id = ${db.workspaceId} and campaign_id = ${id} and state = 'running' limit ${limit}))`);
  return rowCount;
}

async function deleteRows(db: TenantDb, table: string, campaignId: string, limit: number): Promise<number> {
  const name = sql.identifier([table]);
  const { rowCount } = await db.query(sql.type(Nothing)`
    delete from ${name} where ctid = any(array(
      select ctid from ${name} where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} limit ${limit}))`);
  return rowCount;
}

/**
 * Deletes a campaign whose lock the caller holds. It is gone for everybody at once; what it holds its workflow clears
 * away, but for the messages that have left.
 * @returns the workflows to wake after the commit.
 */
export async function deleteCampaign(db: TenantDb, id: string, now: Date): Promise<string[]> {
  await setStatus(db, id, sql.fragment`status = 'archived', deleted_at = now()`);
  return wakeCampaign(db, id, now);
}
