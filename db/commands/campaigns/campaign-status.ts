import { currentTime } from '#domain/base/clock.ts';
import { emitCanceled } from '#db/commands/messages/message-events.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { sql } from 'slonik';
import { CAMPAIGN_CHANGES, type CampaignStatus } from '#domain/campaigns/campaign.ts';
import { type MessageStep, messageSteps } from '#domain/campaigns/step.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { CARRYING_CHANNELS, type Channel } from '#domain/base/channel.ts';
import type { SignalName } from '#workflows/protocol/signals.ts';
import { campaignWorkflowId, personalizerId } from '#workflows/protocol/workflow-ids.ts';
import { CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import { findPool } from '#db/queries/lines/line-pools.ts';
import { usableLines } from '#db/queries/lines/lines.ts';
import { findList, shareList } from '#db/queries/contacts/lists.ts';
import { findSegment, idsOfSegment, shareSegment } from '#db/queries/contacts/segments.ts';
import { requireRoomForMessages } from '#db/queries/accounts/limits.ts';
import { requireSending } from '#db/queries/accounts/writable.ts';
import { requireRoomForTestMessages } from '#db/commands/test-mode/twin.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake, wakeLines, wakeSelf } from '#db/wakes/wakes.ts';

/** What a caller can do. All actions require `lockCampaign`. */
export type CampaignAction = 'start' | 'pause' | 'resume' | 'archive';

/** The signal to the campaign's workflow. */
const SIGNAL_OF = {
  start: 'started',
  pause: 'paused',
  resume: 'resumed',
  archive: 'archived',
} as const satisfies Record<CampaignAction, SignalName>;

export const canTake = (action: CampaignAction, status: CampaignStatus): boolean =>
  (CAMPAIGN_CHANGES[action].from as readonly CampaignStatus[]).includes(status);

/** @throws Refusal if no active line can send one of the steps. @param known channels that are not looked at. */
export async function requireLines(
  db: TenantDb,
  { steps, eligibleLineIds, poolId }: CampaignRow,
  known: readonly Channel[] = [],
): Promise<void> {
  const pool = poolId === null ? null : await findPool(db, poolId);
  const allowed = pool ? pool.lines.map(({ lineId }) => lineId) : eligibleLineIds;
  const lines = (await usableLines(db)).filter(({ id }) => allowed?.includes(id) ?? true);
  const canSend = ({ messageType }: MessageStep): boolean =>
    known.includes(messageType) ||
    lines.some(({ channel }) => CARRYING_CHANNELS[messageType].includes(channel));
  const unsendable = messageSteps(steps).find(({ step }) => !canSend(step))?.step.messageType;
  if (unsendable !== undefined)
    throw new Refusal('NO_ACTIVE_LINE', null, `The workspace has no active line for ${unsendable}`);
}

/** Whether the list or segment of a campaign exists, or it has none. Keeps it from being deleted until the transaction ends. */
export const hasItsAudience = async (db: TenantDb, { listId, segmentId }: CampaignRow): Promise<boolean> =>
  segmentId === null ? listId === null || shareList(db, listId) : shareSegment(db, segmentId);

/** Keeps who is in the segment of a campaign now, for it to enter. @returns how many. @throws TooManyToJudge */
async function takeSegment(db: TenantDb, { id, audience }: CampaignRow, segmentId: string): Promise<number> {
  const segment = await findSegment(db, segmentId);
  const leadIds = segment ? await idsOfSegment(db, segment, currentTime()) : [];
  if (audience === 'snapshot')
    await db.query(sql.type(NoRows)`
      insert into campaign_candidates (workspace_id, campaign_id, lead_id, is_sent_on)
      select ${db.workspaceId}, ${id}, lead_id, true from unnest(${sql.array(leadIds, 'text')}) as s (lead_id)
      on conflict (workspace_id, campaign_id, lead_id) do update set is_sent_on = true`);
  return leadIds.length;
}

/** @throws Refusal, LimitReached, TooManyToJudge unless the campaign can start now. */
async function requireStart(
  db: TenantDb,
  campaign: CampaignRow,
  { isTest }: { isTest: boolean },
): Promise<void> {
  const { listId, segmentId, steps } = campaign;
  if (!(await hasItsAudience(db, campaign)))
    throw new Refusal(
      'NOT_FOUND',
      null,
      `The ${segmentId === null ? 'list' : 'segment'} of the campaign was deleted`,
    );
  await requireLines(db, campaign);
  const leads =
    segmentId === null
      ? listId === null
        ? 0
        : ((await findList(db, listId))?.leadCount ?? 0)
      : await takeSegment(db, campaign, segmentId);
  // The maximum that it queues.
  const messages = leads * messageSteps(steps).length;
  if (isTest) await requireRoomForTestMessages(db, messages);
  await requireRoomForMessages(db, messages);
}

/**
 * Starts, pauses, resumes or archives a campaign. Requires `lockCampaign`. Changes one row, however many messages the
 * campaign has, because messages are sent only while their campaign is active (`campaignAllowsSending`). The workflow of
 * an archived campaign cancels the remaining messages.
 * @param options.byWorkflow the campaign's workflow itself makes the change, and gets no signal.
 * @returns the updated campaign.
 * @throws Refusal, LimitReached
 */
export async function changeCampaignStatus(
  db: TenantDb,
  campaign: CampaignRow,
  action: CampaignAction,
  now: Date,
  { byWorkflow = false }: { byWorkflow?: boolean } = {},
): Promise<CampaignRow> {
  const { id, listId, segmentId, audience, needsAiPersonalization, status } = campaign;
  if (!canTake(action, status))
    throw new Refusal('INVALID_STATE', null, `A campaign that is ${status} cannot ${action}`);
  const runs = action === 'start' || action === 'resume';
  const workspace = runs ? await requireSending(db) : null;
  if (workspace && action === 'start')
    await requireStart(db, campaign, { isTest: workspace.liveWorkspaceId !== null });
  const also =
    action === 'start'
      ? sql.fragment`, started_at = ${sql.timestamp(now)}, entered_all = ${listId === null && segmentId === null},
          scanned_at = ${segmentId !== null && audience === 'snapshot' ? sql.timestamp(now) : sql.fragment`null`}`
      : sql.fragment``;
  await setStatus(db, id, action, also);
  if (runs) await wakeCampaignLines(db, id);
  if (runs && needsAiPersonalization) wake(db, personalizerId(id), now, 'personalizationsDue');
  if (byWorkflow) wakeSelf(db, campaignWorkflowId(id), now);
  else wake(db, campaignWorkflowId(id), now, SIGNAL_OF[action]);
  return db.one(sql.type(CampaignRow)`
    select * from campaigns where workspace_id = ${db.workspaceId} and id = ${id}`);
}

async function setStatus(
  db: TenantDb,
  id: string,
  change: keyof typeof CAMPAIGN_CHANGES,
  also = sql.fragment``,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update campaigns set status = ${CAMPAIGN_CHANGES[change].to}${also}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Reactivates a completed campaign to which a lead was added. */
export async function reopenCampaign(db: TenantDb, id: string): Promise<void> {
  await setStatus(db, id, 'reopen', sql.fragment`, completed_at = null`);
}

/** Completes a campaign. Requires `lockCampaign`. */
export async function completeCampaign(
  db: TenantDb,
  { id, name }: Pick<CampaignRow, 'id' | 'name'>,
  { entered, finished }: { entered: number; finished: number },
  now: Date,
): Promise<void> {
  await setStatus(db, id, 'complete', sql.fragment`, completed_at = ${sql.timestamp(now)}`);
  const event = {
    event: 'campaign.completed' as const,
    timestamp: now.toISOString(),
    workspaceId: db.workspaceId,
    campaignId: id,
    campaignName: name,
    data: { leads: entered, finished },
  };
  await emitEvents(db, [event], now);
}

const ofCampaign = (db: TenantDb, id: string) =>
  sql.fragment`workspace_id = ${db.workspaceId} and campaign_id = ${id}`;

const unsent = (db: TenantDb, id: string) =>
  sql.fragment`${ofCampaign(db, id)} and status in ('pending', 'scheduled')`;

const running = (db: TenantDb, id: string) => sql.fragment`${ofCampaign(db, id)} and state = 'running'`;

const QueuedMessageRow = MessageRow.pick({ lineId: true, scheduledAt: true });

/** Has the lines look again that have messages of a campaign in their queues. */
export async function wakeCampaignLines(db: TenantDb, id: string): Promise<void> {
  const lines = await db.any(sql.type(QueuedMessageRow)`
    select line_id, min(scheduled_at) scheduled_at from messages where ${unsent(db, id)} and not held group by line_id`);
  wakeLines(db, lines);
}

/**
 * Cancels unsent messages of a campaign that is archived or deleted. Addresses them by ctid, so that the plan does not depend
 * on statistics, and misses those that were updated while it waited for their locks.
 * @returns the number of canceled messages.
 */
export async function clearMessages(db: TenantDb, id: string, limit: number): Promise<number> {
  const canceled = await db.any(sql.type(MessageRow)`
    update messages set status = 'canceled', held = false, hold_reason = 'campaign_ended', updated_at = now()
    where workspace_id = ${db.workspaceId} and ctid = any(array(
      select ctid from messages where ${unsent(db, id)} order by id limit ${limit} for no key update))
    returning *`);
  await emitCanceled(db, canceled, currentTime());
  return canceled.length;
}

/**
 * Clears the next part of an archived or deleted campaign: first stops its running leads, then cancels its unsent
 * messages, then deletes the rows of a deleted campaign.
 * @returns true when nothing is left.
 */
export async function clearCampaign(db: TenantDb, id: string, limit: number): Promise<boolean> {
  if ((await deleteRows(db, { table: 'campaign_candidates', key: 'lead_id' }, id, limit)) > 0) return false;
  if ((await clearLeads(db, id, limit)) > 0) return false;
  if ((await clearMessages(db, id, limit)) > 0) return false;
  // Those that were missed.
  if (await db.exists(sql.type(NoRows)`select from campaign_leads where ${running(db, id)}`)) return false;
  if (await db.exists(sql.type(NoRows)`select from messages where ${unsent(db, id)}`)) return false;
  const isDeleted = await db.exists(sql.type(NoRows)`
    select 1 from campaigns where workspace_id = ${db.workspaceId} and id = ${id} and deleted_at is not null`);
  if (!isDeleted) return true;
  if ((await deleteRows(db, { table: 'personalizations', key: 'message_id' }, id, limit)) > 0) return false;
  if ((await deleteRows(db, { table: 'campaign_corrections', key: 'message_id' }, id, limit)) > 0)
    return false;
  if ((await deleteRows(db, { table: 'campaign_responses', key: 'message_id' }, id, limit)) > 0) return false;
  if ((await deleteRows(db, { table: 'campaign_leads', key: 'lead_id' }, id, limit)) > 0) return false;
  await db.query(
    sql.type(NoRows)`delete from campaigns where workspace_id = ${db.workspaceId} and id = ${id}`,
  );
  return true;
}

/** Stops the running leads of a campaign. Misses some, like `clearMessages`. */
async function clearLeads(db: TenantDb, id: string, limit: number): Promise<number> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update campaign_leads set state = 'stopped', stop_reason = 'removed', updated_at = ${sql.timestamp(currentTime())}
    where workspace_id = ${db.workspaceId} and ctid = any(array(
      select ctid from campaign_leads where ${running(db, id)}
      order by campaign_id, lead_id limit ${limit} for no key update))`);
  return rowCount;
}

async function deleteRows(
  db: TenantDb,
  { table, key }: { table: string; key: string },
  campaignId: string,
  limit: number,
): Promise<number> {
  const name = sql.identifier([table]);
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from ${name} where workspace_id = ${db.workspaceId} and ctid = any(array(
      select ctid from ${name} where ${ofCampaign(db, campaignId)} order by ${sql.identifier([key])} limit ${limit} for update))`);
  return rowCount;
}

/**
 * Deletes a campaign. Requires `lockCampaign`. The campaign is hidden at once; its workflow deletes its data, except for
 * sent messages.
 */
export async function deleteCampaign(db: TenantDb, id: string, now: Date): Promise<void> {
  await setStatus(db, id, 'archive', sql.fragment`, deleted_at = now()`);
  wake(db, campaignWorkflowId(id), now, SIGNAL_OF.archive);
}
