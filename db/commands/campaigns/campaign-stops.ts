import { emitCanceled } from '#db/commands/messages/message-events.ts';
import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { UNTRIED } from '#domain/campaigns/campaign-funnel.ts';
import type { Channel } from '#domain/base/channel.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { CountRow } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

/** Why a lead's sequence is stopped. */
export type StopReason =
  | 'reply'
  | 'opt_out'
  | 'suppressed'
  | 'failed'
  | 'no_address'
  | 'removed'
  | 'no_consent'
  | 'stop_condition';

/**
 * Stops the sequences of all leads with this address, in the transaction of the cause, and cancels their unsent steps.
 * A reply stops only campaigns with `stopOnReply`. Requires `lockContact`.
 */
export async function stopContact(
  db: TenantDb,
  address: string,
  reason: StopReason,
  now: Date,
): Promise<void> {
  await stop(
    db,
    reason,
    now,
    sql.fragment`lead_id in (
    select lead_id from list_addresses where workspace_id = ${db.workspaceId} and address = ${address}
    union
    select lead_id from messages
    where workspace_id = ${db.workspaceId} and address = ${address} and campaign_id is not null
  )`,
  );
}

/**
 * Stops the sequences of campaigns that require a consent that contacts have not given. Requires `lockContact` or `lockSequencesTo`.
 * @param without addresses and channels without consent.
 */
export async function stopWithoutConsent(
  db: TenantDb,
  without: readonly { address: string; channel: Channel }[],
  now: Date,
): Promise<void> {
  const reached = sql.unnest(
    without.map(({ address, channel }) => [address, channel]),
    ['text', 'text'],
  );
  await stop(
    db,
    'no_consent',
    now,
    sql.fragment`c.require_consent and (campaign_id, lead_id) in (
    select campaign_id, lead_id from messages
    where workspace_id = ${db.workspaceId} and campaign_id is not null and (address, channel) in (select * from ${reached}))`,
  );
}

/** Stops the sequences of messages that failed permanently. Requires `lockSequences`. */
export async function stopFailed(
  db: TenantDb,
  failed: readonly Pick<MessageRow, 'campaignId' | 'leadId' | 'errorMessage'>[],
  now: Date,
): Promise<void> {
  const sequences = failed.flatMap(({ campaignId, leadId, errorMessage }) =>
    campaignId === null || leadId === null ? [] : [{ reason: reasonOf(errorMessage), campaignId, leadId }],
  );
  for (const [reason, stopped] of Map.groupBy(sequences, (one) => one.reason)) {
    const ids = stopped.map(({ campaignId, leadId }) => [campaignId, leadId]);
    const these = sql.fragment`(campaign_id, lead_id) in (select * from ${sql.unnest(ids, ['text', 'text'])})`;
    await stop(db, reason, now, these);
  }
}

/** As the funnel counts them: what was not tried has not failed. */
function reasonOf(errorMessage: string | null): StopReason {
  switch (UNTRIED.find((one) => one === errorMessage)) {
    case 'recipient_opted_out':
      return 'opt_out';
    case 'recipient_suppressed':
      return 'suppressed';
    case undefined:
      return 'failed';
  }
}

/** Stops the sequences of leads that are removed, and cancels their unsent steps. Requires the locks of both. */
export async function stopLeads(db: TenantDb, leadIds: readonly string[], now: Date): Promise<void> {
  await stop(db, 'removed', now, sql.fragment`lead_id = any(${sql.array([...leadIds], 'text')})`);
}

/** Stops leads for whom a condition to stop holds. Requires the locks of their sequences. */
export const stopByCondition = (
  db: TenantDb,
  campaignId: string,
  leadIds: readonly string[],
  now: Date,
): Promise<void> =>
  stop(
    db,
    'stop_condition',
    now,
    sql.fragment`campaign_id = ${campaignId} and lead_id = any(${sql.array([...leadIds], 'text')})`,
  );

/** Takes a lead out of a campaign, and cancels its unsent steps there. Requires `lockSequence`. */
export async function stopLead(
  db: TenantDb,
  campaignId: string,
  leadId: string,
  now: Date,
  reason: StopReason = 'removed',
): Promise<void> {
  await stop(db, reason, now, sql.fragment`l.campaign_id = ${campaignId} and l.lead_id = ${leadId}`);
}

const StoppedRow = z.object({ campaignId: z.string(), leadId: z.string() });

async function stop(db: TenantDb, reason: StopReason, now: Date, who: FragmentSqlToken): Promise<void> {
  const stopped = await db.any(sql.type(StoppedRow)`
    update campaign_leads l set state = 'stopped', stop_reason = ${reason}, updated_at = ${sql.timestamp(now)}
    from campaigns c
    where l.workspace_id = ${db.workspaceId} and l.state = 'running' and ${who}
      and c.workspace_id = l.workspace_id and c.id = l.campaign_id and (c.stop_on_reply or ${reason} <> 'reply')
    returning l.campaign_id, l.lead_id`);
  for (const { campaignId, leadId } of stopped) {
    const canceled = await db.any(sql.type(MessageRow)`
      update messages set status = 'canceled', hold_reason = ${reason}, held = false, updated_at = now()
      where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = ${leadId}
        and status in ('pending', 'scheduled')
      returning *`);
    await emitCanceled(db, canceled, now);
  }
  await wakeWhenDone(
    db,
    stopped.map(({ campaignId }) => campaignId),
    now,
  );
}

const StoppedCampaignIdRow = StoppedRow.pick({ campaignId: true });

/**
 * Cancels the unsent messages of leads and removes the leads from their campaigns. A message that is being sent is canceled if it returns
 * to the queue; it is locked, so that its outcome is settled before or after the leads are deleted.
 * @param ids a query for lead ids.
 */
export async function cancelMessagesOfLeads(db: TenantDb, ids: FragmentSqlToken, now: Date): Promise<void> {
  const left = await db.anyFirst(sql.type(StoppedCampaignIdRow)`
    with locked as materialized (
      select campaign_id, lead_id from campaign_leads where workspace_id = ${db.workspaceId} and lead_id in (${ids})
      order by campaign_id, lead_id for update
    ), gone as (
      delete from campaign_leads l using locked
      where l.workspace_id = ${db.workspaceId} and l.campaign_id = locked.campaign_id and l.lead_id = locked.lead_id
      returning l.campaign_id, l.state
    )
    select distinct campaign_id from gone where state = 'running'`);
  const canceled = await db.any(sql.type(MessageRow)`
    with locked as materialized (
      select id, status from messages
      where workspace_id = ${db.workspaceId} and lead_id in (${ids}) and status in ('pending', 'scheduled', 'sending')
      order by id for no key update
    )
    update messages m set status = 'canceled', hold_reason = 'lead_deleted', held = false, updated_at = now()
    from locked where m.workspace_id = ${db.workspaceId} and m.id = locked.id and locked.status <> 'sending'
    returning m.*`);
  await emitCanceled(db, canceled, now);
  await wakeWhenDone(db, left, now);
}

const AllQueuedRow = z.object({ allQueued: z.boolean() });

/** With fewer running leads, concurrent transactions may each end one and see the others still running. */
const FEW = 20;
/** When the transactions that run beside this one have committed. */
export const LOOK_AGAIN_MS = 2000;

/**
 * Wakes the campaign's workflow when its last lead ends, so that it need not wait for its next regular look.
 * @param options.isSent the lead ends with a message that was sent. Others that end at this moment have one that is being sent, or are
 * stopped, which wakes the workflow as well.
 */
export async function wakeWhenDone(
  db: TenantDb,
  campaignIds: readonly string[],
  now: Date,
  { isSent = false } = {},
): Promise<void> {
  for (const campaignId of new Set(campaignIds)) {
    const running = await db.oneFirst(sql.type(CountRow)`
      select count(*) from (
        select 1 from campaign_leads
        where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and state = 'running' limit ${FEW}
      ) few`);
    if (running === FEW) continue;
    const workflowId = campaignWorkflowId(campaignId);
    if (running === 0) wake(db, workflowId, now, 'leadsDone');
    else if (!isSent || !(await haveAllQueued(db, campaignId)))
      wake(db, workflowId, new Date(now.getTime() + LOOK_AGAIN_MS), 'progressDue');
  }
}

/** Whether each running lead has a message that is not being sent yet, so that none ends at this moment. */
const haveAllQueued = (db: TenantDb, campaignId: string): Promise<boolean> =>
  db.oneFirst(sql.type(AllQueuedRow)`
    select coalesce(bool_and(exists (
      select from messages m
      where m.workspace_id = l.workspace_id and m.campaign_id = l.campaign_id and m.lead_id = l.lead_id
        and m.status in ('pending', 'scheduled') and m.step_index is not null
    )), false) all_queued
    from campaign_leads l
    where l.workspace_id = ${db.workspaceId} and l.campaign_id = ${campaignId} and l.state = 'running'`);
