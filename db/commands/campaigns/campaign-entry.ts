import { sql } from 'slonik';
import { z } from 'zod';
import { planSteps, type PlannedStep } from '#domain/campaigns/campaign-schedule.ts';
import { consentKey } from '#domain/contacts/consent.ts';
import { newId } from '#domain/base/ids.ts';
import { type PhonePlace, type SendTimes, wakingHours } from '#domain/sending/quiet-hours.ts';
import { variantFor } from '#domain/campaigns/step-variants.ts';
import { VARIANT_NAMES, type VariantName } from '#domain/messages/variant-name.ts';
import { placeOfRecipient } from '#db/phones/phone-places.ts';
import { type CampaignRow, campaignWindow } from '#db/queries/campaigns/campaigns.ts';
import { consentedAmong } from '#db/queries/contacts/consents.ts';
import { answerTimes } from '#db/queries/messages/contact-relation.ts';
import { findLeads, LeadRow } from '#db/queries/contacts/leads.ts';
import { findSegment, leadsFor, nextInSegment } from '#db/queries/contacts/segments.ts';
import { enters } from '#db/queries/campaigns/audience.ts';
import { chooseLines } from '#db/commands/messages/line-choice.ts';
import { personalize, PERSONALIZATION } from './personalizations.ts';
import { recordset, ROWS_INSERTED } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wakeLines } from '#db/wakes/wakes.ts';
import { workspacePace, workspaceTimezone } from '#db/queries/accounts/workspaces.ts';

/** The `holdReason` of steps that wait for the previous step. */
export const PREVIOUS_STEP = 'previous_step';

const EnteringLead = LeadRow.pick({
  id: true,
  firstName: true,
  lastName: true,
  phones: true,
  emails: true,
  timezone: true,
});
export type EnteringLead = z.infer<typeof EnteringLead>;

/** A message of a lead's sequence. */
export interface StepMessage extends PlannedStep {
  id: string;
  lead: EnteringLead;
  lineId: string | null;
  /** Null: the step has none. */
  variant: VariantName | null;
}

/**
 * The next leads of a campaign's list or segment after `enteredTo`, in id order, up to some hundreds.
 * @returns `last`: up to where the list or segment has been read; null: to its end.
 */
export async function nextLeads(
  db: TenantDb,
  campaign: CampaignRow,
  limit: number,
  now: Date,
): Promise<{ leads: EnteringLead[]; last: string | null }> {
  const { listId, segmentId, enteredTo } = campaign;
  if (segmentId !== null) {
    const segment = await findSegment(db, segmentId);
    if (!segment) return { leads: [], last: null };
    return nextInSegment(db, segment.conditions, { after: enteredTo, only: enters(db, campaign) }, now);
  }
  if (listId === null) return { leads: [], last: null };
  const rows = await db.any(sql.type(EnteringLead)`
    select l.id, l.first_name, l.last_name, l.phones, l.emails, l.timezone
    from (
      select distinct lead_id from list_addresses
      where workspace_id = ${db.workspaceId} and list_id = ${listId} and lead_id > ${enteredTo}
      order by lead_id limit ${limit}
    ) a
    join leads l on l.workspace_id = ${db.workspaceId} and l.id = a.lead_id
    order by l.id`);
  return { leads: [...rows], last: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
}

/** The leads that changed, and are in the segment of a live campaign now. Forgets those that it looked at. */
export async function changedLeads(
  db: TenantDb,
  { id, segmentId }: CampaignRow,
  limit: number,
  now: Date,
): Promise<EnteringLead[]> {
  const ids = await db.anyFirst(sql.type(LeadIdRow)`
    delete from campaign_candidates where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id in (
      select lead_id from campaign_candidates where workspace_id = ${db.workspaceId} and campaign_id = ${id}
      order by lead_id limit ${limit})
    returning lead_id`);
  const segment = segmentId === null ? null : await findSegment(db, segmentId);
  const leads = [...(await findLeads(db, ids)).values()];
  return segment ? leadsFor(db, leads, segment.conditions, now) : [];
}

/** Whether leads changed that may have come into the segment of a live campaign. */
export const haveLeadsChanged = (db: TenantDb, id: string): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from campaign_candidates where workspace_id = ${db.workspaceId} and campaign_id = ${id}`);

/**
 * Plans the messages of leads that enter now: all steps that can reach them, with their earliest time and line. Stores only
 * the position of the lines' round-robin, and the contacts' conversations, which it locks: consents are read afterwards.
 */
export async function planEntry(
  db: TenantDb,
  campaign: CampaignRow,
  leads: readonly EnteringLead[],
  now: Date,
): Promise<StepMessage[]> {
  const window = campaignWindow(campaign, await workspaceTimezone(db));
  const planned = leads.flatMap((lead) =>
    planSteps(campaign.steps, lead, window, now).map((step) => ({ ...step, lead })),
  );
  const chosen = await chooseLines(
    db,
    planned.map((step) => ({
      ...step,
      pinnedLineId: null,
      poolId: campaign.poolId,
      eligibleLineIds: campaign.eligibleLineIds,
      stickinessPolicy: campaign.stickinessPolicy,
    })),
  );
  return chosen.map(({ stepIndex, channel, address, at, lead, lineId }) => ({
    id: newId(now),
    stepIndex,
    channel,
    address,
    at,
    lead,
    lineId,
    variant: variantFor(campaign.steps[stepIndex] ?? {}, {
      campaignId: campaign.id,
      stepIndex,
      leadId: lead.id,
    }),
  }));
}

/**
 * Enters leads into a campaign and creates the messages of all their steps; the first step is queued. Leads that
 * entered before are skipped. Requires `lockCampaign`.
 * @returns the number of leads that entered, of those among them that were skipped without consent, and of messages.
 */
export async function enterLeads(
  db: TenantDb,
  campaign: CampaignRow,
  leads: readonly EnteringLead[],
  now: Date,
): Promise<{ admitted: number; noConsent: number; messageCount: number }> {
  const fresh = await admit(db, campaign.id, leads, now);
  const admitted = fresh.size;
  const { allowed: messages, refused } = await withConsent(
    db,
    campaign,
    await planEntry(
      db,
      campaign,
      leads.filter(({ id }) => fresh.has(id)),
      now,
    ),
  );
  for (const { lead } of messages) fresh.delete(lead.id);
  const withoutConsent = new Set(refused.map(({ lead }) => lead.id).filter((id) => fresh.has(id)));
  for (const id of withoutConsent) fresh.delete(id);
  await markSkipped(db, campaign.id, fresh, 'no_address');
  await markSkipped(db, campaign.id, withoutConsent, 'no_consent');
  const entered = { admitted, noConsent: withoutConsent.size, messageCount: messages.length };
  if (messages.length === 0) return entered;

  await insertStepMessages(db, campaign, messages, now);
  await wakeFirst(db, campaign, messages, now);
  return entered;
}

/** Wakes the personalizer, or the lines, for the first steps. */
async function wakeFirst(
  db: TenantDb,
  campaign: CampaignRow,
  messages: readonly StepMessage[],
  now: Date,
): Promise<void> {
  const first = firstSteps(messages);
  if (campaign.needsAiPersonalization) {
    const rows = first.map(({ id, at }) => [id, at.toISOString()]);
    const due = sql.fragment`select * from ${sql.unnest(rows, ['text', 'timestamptz'])} as t (message_id, at)`;
    await personalize(db, campaign, due, now);
    return;
  }
  if (campaign.status !== 'active') return;
  wakeLines(
    db,
    first.map(({ lineId, at }) => ({ lineId, scheduledAt: at })),
  );
}

const LeadIdRow = z.object({ leadId: z.string() });

/** Records the leads that enter. @returns their ids, without those that entered before. */
async function admit(
  db: TenantDb,
  campaignId: string,
  leads: readonly EnteringLead[],
  now: Date,
): Promise<Set<string>> {
  const ids = await db.anyFirst(sql.type(LeadIdRow)`
    insert into campaign_leads (workspace_id, campaign_id, lead_id, entered_at)
    select ${db.workspaceId}, ${campaignId}, l.id, ${sql.timestamp(now)} from ${sql.unnest(
      leads.map(({ id }) => [id]),
      ['text'],
    )} as l (id)
    on conflict do nothing returning lead_id`);
  return new Set(ids);
}

/** The steps that their leads have consented to, if the campaign requires it. */
async function withConsent(
  db: TenantDb,
  { requireConsent }: CampaignRow,
  steps: readonly StepMessage[],
): Promise<{ allowed: readonly StepMessage[]; refused: readonly StepMessage[] }> {
  if (!requireConsent) return { allowed: steps, refused: [] };
  const consented = await consentedAmong(db, steps);
  const isAllowed = ({ address, channel }: StepMessage) => consented.has(consentKey(address, channel));
  return { allowed: steps.filter(isAllowed), refused: steps.filter((step) => !isAllowed(step)) };
}

/** Stops leads that get no message at all. */
async function markSkipped(
  db: TenantDb,
  campaignId: string,
  leadIds: ReadonlySet<string>,
  reason: 'no_address' | 'no_consent',
): Promise<void> {
  if (leadIds.size === 0) return;
  await db.query(sql.type(NoRows)`
    update campaign_leads set state = 'stopped', stop_reason = ${reason}, updated_at = now()
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and lead_id = any(${sql.array([...leadIds], 'text')})`);
}

const firstSteps = (messages: readonly StepMessage[]): StepMessage[] =>
  messages.filter(({ lead }, index) => messages[index - 1]?.lead.id !== lead.id);

/** The place of a lead that gets a message: from its time zone, otherwise from its number. */
function recipientPlace({ timezone, phones }: EnteringLead, address: string): PhonePlace {
  const place = placeOfRecipient({ address, recipientPhone: phones[0] ?? null });
  return timezone === null ? place : { ...place, zones: [timezone] };
}

/** When the steps of a campaign may be sent: within its window, and outside the recipients' quiet hours. */
export async function stepTimes(
  db: TenantDb,
  campaign: CampaignRow,
): Promise<(step: Pick<StepMessage, 'lead' | 'address'>) => SendTimes> {
  const { timezone, quiet } = await workspacePace(db);
  const window = campaignWindow(campaign, timezone);
  return ({ lead, address }) => {
    const recipient = {
      kind: 'campaign',
      campaignId: campaign.id,
      ...recipientPlace(lead, address),
    } as const;
    return { window, quiet: wakingHours(quiet, recipient, timezone) };
  };
}

/** Inserts all messages in one statement; bodies and windows are read from the campaign's row, once for each text of a step. */
async function insertStepMessages(
  db: TenantDb,
  campaign: CampaignRow,
  messages: readonly StepMessage[],
  now: Date,
): Promise<void> {
  const first = new Set(firstSteps(messages).map(({ id }) => id));
  const batchIds = new Map<string, string>();
  const answersUntil = await answerTimes(db, new Set(messages.map(({ address }) => address)));
  const rows = messages.map(({ id, lead, lineId, stepIndex, variant, address, at }, position) => {
    const batchId = batchIds.get(lead.id) ?? newId(now);
    batchIds.set(lead.id, batchId);
    const heldFor = first.has(id)
      ? campaign.needsAiPersonalization
        ? PERSONALIZATION
        : null
      : PREVIOUS_STEP;
    const { zones, region } = recipientPlace(lead, address);
    return {
      id,
      status: at > now ? 'scheduled' : 'pending',
      holdReason: heldFor,
      held: heldFor !== null,
      leadId: lead.id,
      lineId,
      stepIndex,
      variant,
      address,
      recipientPhone: lead.phones[0] ?? null,
      recipientEmail: lead.emails[0] ?? null,
      recipientName: `${lead.firstName} ${lead.lastName}`.trim() || null,
      recipientZones: zones,
      recipientRegion: region,
      scheduledAt: at,
      answersUntil: answersUntil.get(address) ?? null,
      batchId,
      arrival: position,
    };
  });
  await db.query(sql.type(NoRows)`
    insert into messages (
      workspace_id, id, channel, status, hold_reason, held, line_id, eligible_line_ids, pool_id, stickiness_policy, address,
      recipient_phone, recipient_email, recipient_name, lead_id, body, subject, attachment_urls, scheduled_at,
      window_timezone, window_start, window_end, window_days, recipient_zones, recipient_region, answers_until, sms_fallback_enabled, sms_fallback_message,
      source, batch_id, step_index, variant, campaign_id, created_by_user_id, created_at, updated_at)
    -- Of the select, since a cluster would send those of the insert to every node.
    with steps as materialized (
      select (s.number - 1)::int4 step_index, v.name variant, s.step ->> 'messageType' channel,
        coalesce(v.text ->> 'body', s.step ->> 'message') body, coalesce(v.text ->> 'subject', s.step ->> 'subject') subject,
        array(select jsonb_array_elements_text(s.step -> 'attachmentUrls')) attachment_urls,
        (s.step ->> 'smsFallbackEnabled')::boolean sms_fallback_enabled, s.step ->> 'smsFallbackMessage' sms_fallback_message
      from campaigns k cross join lateral jsonb_array_elements(k.steps) with ordinality s (step, number)
      left join lateral (
        select (${sql.array([...VARIANT_NAMES], 'text')})[v.number] "name", v.text
        from jsonb_array_elements(s.step -> 'variants') with ordinality v (text, number)
      ) v on true
      where k.workspace_id = ${db.workspaceId} and k.id = ${campaign.id}
    )
    select k.workspace_id, m.id, s.channel, m.status, m.hold_reason, m.held, m.line_id, k.eligible_line_ids, k.pool_id, k.stickiness_policy,
      m.address, m.recipient_phone, m.recipient_email, m.recipient_name, m.lead_id, s.body, s.subject, s.attachment_urls, m.scheduled_at,
      case when k.window_start is null and k.window_end is null and k.window_days is null then null
        else coalesce(k.timezone, w.timezone) end,
      k.window_start, k.window_end, k.window_days, m.recipient_zones, m.recipient_region, m.answers_until, s.sms_fallback_enabled, s.sms_fallback_message,
      'campaign', m.batch_id, m.step_index, m.variant, k.id, k.created_by_user_id, ${sql.timestamp(now)}, ${sql.timestamp(now)}
    from campaigns k
    join workspaces w on w.id = k.workspace_id
    cross join ${recordset('messages', rows)} m
    join steps s on s.step_index = m.step_index and s.variant is not distinct from m.variant
    where k.workspace_id = ${db.workspaceId} and k.id = ${campaign.id}
    order by m.arrival
    ${ROWS_INSERTED}`);
}
