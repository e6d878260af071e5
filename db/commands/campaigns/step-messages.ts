import { sql } from 'slonik';
import { addressOn, planSteps, type PlannedStep } from '#domain/campaigns/campaign-schedule.ts';
import {
  isMessageStep,
  type MessageStep,
  type Placed,
  stepNumbers,
  stepsById,
} from '#domain/campaigns/step.ts';
import { consentKey } from '#domain/contacts/consent.ts';
import { newId } from '#domain/base/ids.ts';
import { type PhonePlace, type SendTimes, wakingHours } from '#domain/sending/quiet-hours.ts';
import { textsOf, variantFor } from '#domain/campaigns/step-variants.ts';
import type { VariantName } from '#domain/messages/variant-name.ts';
import { placeOfRecipient } from '#db/phones/phone-places.ts';
import { type CampaignRow, campaignWindow } from '#db/queries/campaigns/campaigns.ts';
import { consentedAmong } from '#db/queries/contacts/consents.ts';
import { answerTimes } from '#db/queries/messages/contact-relation.ts';
import type { LeadRow } from '#db/queries/contacts/leads.ts';
import { chooseLines } from '#db/commands/messages/line-choice.ts';
import { personalize, PERSONALIZATION } from './personalizations.ts';
import { PREVIOUS_STEP } from './revisions.ts';
import { stepTexts } from './step-texts.ts';
import { recordset, ROWS_INSERTED } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wakeLines } from '#db/wakes/wakes.ts';
import { workspacePace, workspaceTimezone } from '#db/queries/accounts/workspaces.ts';

/** A message of a lead's sequence. */
export interface StepMessage extends PlannedStep {
  id: string;
  /** The number of the step (`stepNumbers`). */
  stepIndex: number;
  lead: LeadRow;
  lineId: string | null;
  /** Null: the step has none. */
  variant: VariantName | null;
}

/** A lead that comes to messages which follow each other. */
export interface Run {
  lead: LeadRow;
  run: readonly Placed<MessageStep>[];
  /** From when the delay of the first counts. */
  from: Date;
  /** The steps among them that the lead does not get again. */
  received: ReadonlySet<string>;
  /** The steps among them whose messages it has. */
  kept: ReadonlySet<string>;
}

/**
 * Plans messages that follow each other. Stores only the position of the lines' round-robin, and the contacts' conversations, which it
 * locks: consents are read afterwards.
 */
export async function planRuns(
  db: TenantDb,
  campaign: CampaignRow,
  runs: readonly Run[],
  now: Date,
): Promise<StepMessage[]> {
  const window = campaignWindow(campaign, await workspaceTimezone(db));
  const planned = runs.flatMap(({ lead, run, from, received, kept }) =>
    planSteps(run, lead, window, from, received)
      .filter(({ stepId }) => !kept.has(stepId))
      .map((step) => ({ ...step, lead })),
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
  const numbers = stepNumbers(campaign);
  return chosen.map(({ stepId, channel, address, at, lead, lineId }) => ({
    id: newId(now),
    stepIndex: numbers.get(stepId) ?? 0,
    stepId,
    channel,
    address,
    at,
    lead,
    lineId,
    variant: variantOf(campaign, stepId, lead.id),
  }));
}

/** The variant of a step that the lead gets. */
export function variantOf(campaign: CampaignRow, stepId: string, leadId: string): VariantName | null {
  const step = stepsById(campaign.steps).get(stepId)?.step;
  if (!step || !isMessageStep(step)) return null;
  const stepIndex = stepNumbers(campaign).get(stepId) ?? 0;
  return variantFor(step, { campaignId: campaign.id, stepIndex, leadId });
}

/** The variant of a message after an edit: its own, unless its step has no such one any more. */
export function variantAfterEdit(
  campaign: CampaignRow,
  { stepId, variant: own }: { stepId: string; variant: VariantName | null },
  leadId: string,
): VariantName | null {
  const step = stepsById(campaign.steps).get(stepId)?.step;
  const remains = step && isMessageStep(step) && textsOf(step).some(({ variant }) => variant === own);
  return remains ? own : variantOf(campaign, stepId, leadId);
}

export const reaches = (lead: LeadRow, { messageType }: MessageStep): boolean =>
  addressOn(messageType, lead) !== null;

/** The steps that their leads have consented to, if the campaign requires it. */
export async function withConsent<Step extends Pick<StepMessage, 'address' | 'channel'>>(
  db: TenantDb,
  { requireConsent }: CampaignRow,
  steps: readonly Step[],
): Promise<{ allowed: readonly Step[]; refused: readonly Step[] }> {
  if (!requireConsent) return { allowed: steps, refused: [] };
  const consented = await consentedAmong(db, steps);
  const isAllowed = ({ address, channel }: Step) => consented.has(consentKey(address, channel));
  return { allowed: steps.filter(isAllowed), refused: steps.filter((step) => !isAllowed(step)) };
}

/** The place of a lead that gets a message: from its time zone, otherwise from its number. */
export function recipientPlace(
  { timezone, phones }: Pick<LeadRow, 'timezone' | 'phones'>,
  address: string,
): PhonePlace {
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

/** Inserts all messages in one statement, with each text of a step only once; windows are read from the campaign's row. */
export async function insertStepMessages(
  db: TenantDb,
  campaign: CampaignRow,
  messages: readonly StepMessage[],
  firstMessages: readonly StepMessage[],
  now: Date,
): Promise<void> {
  const first = new Set(firstMessages.map(({ id }) => id));
  const used = new Set(messages.map(({ stepId }) => stepId));
  const batchIds = new Map<string, string>();
  const answersUntil = await answerTimes(db, new Set(messages.map(({ address }) => address)));
  const rows = messages.map(({ id, lead, lineId, stepIndex, stepId, variant, address, at }, position) => {
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
      stepId,
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
      source, batch_id, step_index, step_id, variant, campaign_id, campaign_version, created_by_user_id, created_at, updated_at)
    with ${stepTexts(campaign.steps, used)}
    select k.workspace_id, m.id, s.channel, m.status, m.hold_reason, m.held, m.line_id, k.eligible_line_ids, k.pool_id, k.stickiness_policy,
      m.address, m.recipient_phone, m.recipient_email, m.recipient_name, m.lead_id, s.body, s.subject, s.attachment_urls, m.scheduled_at,
      case when k.window_start is null and k.window_end is null and k.window_days is null then null
        else coalesce(k.timezone, w.timezone) end,
      k.window_start, k.window_end, k.window_days, m.recipient_zones, m.recipient_region, m.answers_until, s.sms_fallback_enabled, s.sms_fallback_message,
      'campaign', m.batch_id, m.step_index, m.step_id, m.variant, k.id, k.version, k.created_by_user_id, ${sql.timestamp(now)}, ${sql.timestamp(now)}
    from campaigns k
    join workspaces w on w.id = k.workspace_id
    cross join ${recordset('messages', rows)} m
    join steps s on s.step_id = m.step_id and s.variant is not distinct from m.variant
    where k.workspace_id = ${db.workspaceId} and k.id = ${campaign.id}
    order by m.arrival
    ${ROWS_INSERTED}`);
}
/** Wakes the personalizer, or the lines, for the first steps. */
export async function wakeFirst(
  db: TenantDb,
  campaign: CampaignRow,
  first: readonly StepMessage[],
  now: Date,
): Promise<void> {
  if (campaign.needsAiPersonalization && first.length > 0) {
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
