import { currentTime } from '#domain/base/clock.ts';
import { emitCanceled } from '#db/commands/messages/message-events.ts';
import { sql } from 'slonik';
import { z } from 'zod';
import { stepDate } from '#domain/campaigns/campaign-schedule.ts';
import { wakeWhenDone } from './campaign-stops.ts';
import { goesOnAfter } from '#domain/campaigns/walk.ts';
import { isMessageStep, stepsById } from '#domain/campaigns/step.ts';
import { VariantName } from '#domain/messages/variant-name.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';
import { type CampaignRow, campaignWindow, findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { addressesOf, findLead, type LeadRow } from '#db/queries/contacts/leads.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { lockSequencesOf } from '#db/queries/sending/message-locks.ts';
import { followAddressesIn, waitingAtFormer } from './lead-addresses.ts';
import { keepPaused } from './lead-pauses.ts';
import { variantAfterEdit } from './step-messages.ts';
import { cancelRemoved, reviseLead, reviseMessages } from './revisions.ts';
import { stopWhenMet } from './stop-conditions.ts';
import { personalize, PERSONALIZATION } from './personalizations.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake, wakeLines } from '#db/wakes/wakes.ts';
import { workspaceTimezone } from '#db/queries/accounts/workspaces.ts';

const Step = MessageRow.pick({ id: true, status: true, sentAt: true }).extend({
  campaignId: MessageRow.shape.campaignId.unwrap(),
  leadId: MessageRow.shape.leadId.unwrap(),
  stepId: z.string(),
  /** The lead does not go by the current version of the steps yet. */
  isOutdated: z.boolean(),
});
type Step = z.infer<typeof Step>;

/**
 * Continues a lead's sequence after one of its messages changed status, in the same transaction: a sent message queues
 * the next step, and a message that returned to the queue, of a step or a correction, is canceled if the lead has stopped. Ignores
 * other messages; a failed one has already stopped its lead (`stopFailed`). Requires `lockSequences`.
 */
export async function followCampaign(db: TenantDb, messageId: string, now: Date): Promise<void> {
  const step = await db.maybeOne(sql.type(Step)`
    select m.id, m.status, m.sent_at, m.campaign_id, m.lead_id, coalesce(m.step_id, (m.step_index + 1)::text) step_id,
      coalesce(l.version < c.version and c.step_ids is not null, false) is_outdated
    from messages m
    left join campaign_leads l on l.workspace_id = m.workspace_id and l.campaign_id = m.campaign_id and l.lead_id = m.lead_id
    left join campaigns c on c.workspace_id = m.workspace_id and c.id = m.campaign_id
    where m.workspace_id = ${db.workspaceId} and m.id = ${messageId}
      and m.campaign_id is not null and m.lead_id is not null and m.step_index is not null`);
  if (!step) return followReturnedCorrection(db, messageId, now);
  switch (step.status) {
    case 'sent':
    case 'delivered':
    case 'fallback':
    case 'canceled':
      return releaseNext(db, step, now);
    case 'pending':
    case 'scheduled':
      return followReturned(db, step, now);
    case 'sending':
    case 'failed':
  }
}

const ofLead = (db: TenantDb, { campaignId, leadId }: Step) =>
  sql.fragment`workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = ${leadId}`;

const QueuedMessageRow = MessageRow.pick({ lineId: true, scheduledAt: true });

async function releaseNext(db: TenantDb, step: Step, now: Date): Promise<void> {
  const campaign = await findCampaign(db, step.campaignId);
  if (!campaign) return;
  const waiting = await db.any(sql.type(Waiting)`
    select id, coalesce(step_id, (step_index + 1)::text) step_id, scheduled_at, window_timezone, held and not exists (
        select from personalizations p
        where p.workspace_id = ${db.workspaceId} and p.message_id = messages.id and p.status = 'waiting'
      ) held
    from messages
    where ${ofLead(db, step)} and status in ('pending', 'scheduled', 'sending') and step_index is not null`);
  if (step.isOutdated) {
    const passed = { stepId: step.stepId, at: step.sentAt ?? now };
    return reviseLead(db, step, waiting.length > 0 ? null : passed, now);
  }
  const placed = stepsById(campaign.steps);
  const orderOf = ({ stepId }: { stepId: string }): number => placed.get(stepId)?.index ?? -1;
  const [next] = waiting.toSorted((a, b) => orderOf(a) - orderOf(b));
  if (!next)
    return goesOnAfter(campaign.steps, step.stepId) ? goOn(db, campaign, step, now) : finish(db, step, now);
  // A later step was canceled by hand; an earlier one has not been sent yet.
  if (waiting.some(({ held }) => !held)) return;

  const window = campaignWindow(campaign, await workspaceTimezone(db));
  const planned = next.scheduledAt > now ? next.scheduledAt : now;
  const at =
    step.status === 'canceled'
      ? planned
      : stepDate(campaign.steps, step.stepId, next.stepId, window, step.sentAt ?? now);
  if ((await stopWhenMet(db, campaign, [step.leadId], now)).size > 0) return;
  // The workspace has moved to another time zone since the message was stored.
  if (window && next.windowTimezone !== window.timezone) await moveWindow(db, next.id, window.timezone);
  if (await keepPaused(db, step, next.id, at)) return;
  const written = campaign.needsAiPersonalization;
  const released = await db.maybeOne(sql.type(QueuedMessageRow)`
    update messages set status = 'scheduled', scheduled_at = ${sql.timestamp(at)}, held = ${written}, hold_reason = ${written ? PERSONALIZATION : null}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${next.id} and status in ('pending', 'scheduled')
    returning line_id, scheduled_at`);
  if (!released) return;
  if (written) {
    const due = sql.fragment`select ${next.id} message_id, ${sql.timestamp(at)} at`;
    return personalize(db, campaign, due, now);
  }
  if (campaign.status === 'active') wakeLines(db, [released]);
}

/** Otherwise a step would be planned by the window of one zone, and wait for that of another. */
async function moveWindow(db: TenantDb, messageId: string, timezone: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set window_timezone = ${timezone} where workspace_id = ${db.workspaceId} and id = ${messageId}`);
}

const Waiting = Step.pick({ id: true, stepId: true }).extend({
  scheduledAt: MessageRow.shape.scheduledAt,
  windowTimezone: MessageRow.shape.windowTimezone,
  held: z.boolean(),
});

/** The lead has got its messages, and comes to a step that decides. The campaign's workflow lets it continue. */
async function goOn(db: TenantDb, { id, status }: CampaignRow, step: Step, now: Date): Promise<void> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update campaign_leads set step_id = ${step.stepId}, is_passed = true, arrived_at = ${sql.timestamp(step.sentAt ?? now)},
      due_at = case when paused_at is null then ${sql.timestamp(now)} else resumes_at end, updated_at = now()
    -- A message may change again after the lead has gone on.
    where ${ofLead(db, step)} and state = 'running' and step_id is null`);
  if (rowCount > 0 && status === 'active') wake(db, campaignWorkflowId(id), now, 'progressDue');
}

async function finish(db: TenantDb, step: Step, now: Date): Promise<void> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update campaign_leads set state = 'finished', updated_at = ${sql.timestamp(now)}
    where ${ofLead(db, step)} and state = 'running'`);
  if (rowCount > 0) await wakeWhenDone(db, [step.campaignId], now, { isSent: step.status === 'sent' });
}

const ReturnedRow = z.object({
  id: z.string(),
  stepId: z.string(),
  variant: VariantName.nullable(),
  version: z.int(),
  /** That by which the lead goes. */
  leadVersion: z.int(),
});

/**
 * A message that returned to the queue after it was sent may have been the last of its sequence, and its step may have changed since.
 * Requires `lockSequences`.
 */
export async function continueSequence(
  db: TenantDb,
  { id, campaignId, leadId }: Pick<MessageRow, 'id' | 'campaignId' | 'leadId'>,
  now: Date,
): Promise<void> {
  if (campaignId === null || leadId === null) return;
  const campaign = await findCampaign(db, campaignId);
  const returned = await db.maybeOne(sql.type(ReturnedRow)`
    select m.id, coalesce(m.step_id, (m.step_index + 1)::text) step_id, m.variant, coalesce(m.campaign_version, 1) "version", l.version lead_version
    from messages m
    join campaign_leads l on l.workspace_id = m.workspace_id and l.campaign_id = m.campaign_id and l.lead_id = m.lead_id
    where m.workspace_id = ${db.workspaceId} and m.id = ${id} and m.step_index is not null`);
  // A lead that is not up to date yet gets the new text with its other messages.
  if (
    campaign &&
    returned &&
    returned.version < campaign.version &&
    returned.leadVersion === campaign.version
  ) {
    const step = stepsById(campaign.steps).get(returned.stepId)?.step;
    if (!step || !isMessageStep(step)) return cancelRemoved(db, [id], now);
    const variant = variantAfterEdit(campaign, returned, leadId);
    await reviseMessages(db, campaign, [{ ...returned, variant, at: null, isHeld: false }], now);
  }
  // Nothing follows in one that is over, and the message is canceled. Nothing follows a correction.
  if (!campaign || !returned || campaign.status === 'archived') return;
  await db.query(sql.type(NoRows)`
    update campaign_leads set state = 'running', updated_at = now()
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = ${leadId} and state = 'finished'`);
}

const LeadState = z.object({ state: z.string(), stopReason: z.string().nullable() });

/** Cancels a message that returned to the queue after a failed send if its lead has stopped in the meantime. */
async function followReturned(db: TenantDb, step: Step, now: Date): Promise<void> {
  const place = await db.maybeOne(sql.type(LeadState)`
    select state, stop_reason from campaign_leads where ${ofLead(db, step)}`);
  if (place?.state !== 'running')
    return cancelReturned(db, step.id, place?.stopReason ?? null, currentTime());
  // Its address may have been corrected while it was being sent.
  const lead = await findLead(db, step.leadId);
  if (lead) await followWaiting(db, lead, await waitingAtFormer(db, lead, step.campaignId), now);
  if (step.isOutdated) await reviseLead(db, step, null, now);
  else await keepPaused(db, step, step.id, null);
}

/**
 * Has campaigns write to a lead at its new addresses, after some were taken from it. Messages that a caller addressed stay as they are.
 * Requires `lockLead`.
 */
export async function followAddresses(
  db: TenantDb,
  before: LeadRow,
  lead: LeadRow,
  now: Date,
): Promise<void> {
  const own = addressesOf(lead);
  if (addressesOf(before).every((address) => own.includes(address))) return;
  await lockSequencesOf(db, lead.id);
  await followWaiting(db, lead, await waitingAtFormer(db, lead), now);
}

async function followWaiting(
  db: TenantDb,
  lead: LeadRow,
  waiting: Awaited<ReturnType<typeof waitingAtFormer>>,
  now: Date,
): Promise<void> {
  for (const [campaignId, messages] of Map.groupBy(waiting, (message) => message.campaignId)) {
    const campaign = await findCampaign(db, campaignId);
    const skipped = campaign ? await followAddressesIn(db, campaign, lead, messages, now) : [];
    for (const id of skipped) await followCampaign(db, id, now);
  }
}

const CorrectionRow = z.object({
  campaignId: z.string(),
  leadId: z.string(),
  isOver: z.boolean(),
  state: z.string().nullable(),
  stopReason: z.string().nullable(),
});

/** A correction is no step: also a lead that has finished gets it, unless the campaign has ended. */
async function followReturnedCorrection(db: TenantDb, messageId: string, now: Date): Promise<void> {
  const correction = await db.maybeOne(sql.type(CorrectionRow)`
    select m.campaign_id, m.lead_id, c.status is null or c.status = 'archived' is_over, l.state, l.stop_reason
    from messages m
    left join campaign_leads l on l.workspace_id = m.workspace_id and l.campaign_id = m.campaign_id and l.lead_id = m.lead_id
    left join campaigns c on c.workspace_id = m.workspace_id and c.id = m.campaign_id
    where m.workspace_id = ${db.workspaceId} and m.id = ${messageId} and m.status in ('pending', 'scheduled')
      and m.campaign_id is not null and m.lead_id is not null and m.step_index is null`);
  if (!correction) return;
  const { isOver, state, stopReason } = correction;
  if (isOver) await cancelReturned(db, messageId, 'campaign_ended', now);
  else if (state === null || state === 'stopped') await cancelReturned(db, messageId, stopReason, now);
  else await keepPaused(db, correction, messageId, null);
}

async function cancelReturned(
  db: TenantDb,
  messageId: string,
  holdReason: string | null,
  now: Date,
): Promise<void> {
  const canceled = await db.any(sql.type(MessageRow)`
    update messages set status = 'canceled', hold_reason = ${holdReason}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${messageId} and status in ('pending', 'scheduled')
    returning *`);
  await emitCanceled(db, canceled, now);
}
