import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { CampaignLead, type CampaignLeadFilter, type FunnelCount } from '#domain/campaigns/campaign-lead.ts';
import { QUEUED, SENT, UNTRIED } from '#domain/campaigns/campaign-funnel.ts';
import { stepNumbers, stepsById } from '#domain/campaigns/step.ts';
import { whyItWaits } from '#domain/sending/why-it-waits.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findLeads, type LeadRow } from '../contacts/leads.ts';
import { findMessages } from '../messages/messages.ts';
import { findWaits, type FoundMessage } from '../messages/shown-messages.ts';
import type { CampaignRow } from './campaigns.ts';

const EnteredRow = z.object({
  leadId: z.string(),
  state: CampaignLead.shape.state,
  stopReason: z.string().nullable(),
  enteredAt: z.date(),
  stepId: z.string().nullable(),
  dueAt: z.date().nullable(),
  pausedAt: z.date().nullable(),
  pauseReason: CampaignLead.shape.pauseReason,
  resumesAt: z.date().nullable(),
  /** Its first message that is not sent. */
  nextMessageId: z.string().nullable(),
  nextStepId: z.string().nullable(),
});

/** The newest leads first. @returns one row more than asked for if there are others. */
export async function listCampaignLeads(
  db: TenantDb,
  campaign: CampaignRow,
  filter: CampaignLeadFilter & { leadId?: string },
  { limit, cursor }: { limit: number; cursor?: string | undefined },
  now: Date,
): Promise<CampaignLead[]> {
  const { state, stepIndex, leadId } = filter;
  const order = sql.array([...stepsById(campaign.steps).keys()], 'text');
  const rows = await db.any(sql.type(EnteredRow)`
    select l.lead_id, l.state, l.stop_reason, l.entered_at, l.step_id, l.due_at,
      l.paused_at, l.pause_reason, l.resumes_at, next.id next_message_id, next.step_id next_step_id
    from campaign_leads l left join lateral (
      select id, coalesce(step_id, (step_index + 1)::text) step_id from messages
      where workspace_id = ${db.workspaceId} and campaign_id = ${campaign.id} and lead_id = l.lead_id
        and status in ('pending', 'scheduled')
      order by array_position(${order}, coalesce(step_id, (step_index + 1)::text)) limit 1
    ) next on true
    where ${sql.and([
      sql.fragment`l.workspace_id = ${db.workspaceId} and l.campaign_id = ${campaign.id}`,
      leadId !== undefined && sql.fragment`l.lead_id = ${leadId}`,
      state !== undefined && sql.fragment`l.state = ${state}`,
      stepIndex !== undefined &&
        sql.fragment`l.lead_id in (${countedLeads(db, campaign, stepIndex, filter)})`,
      cursor !== undefined && sql.fragment`l.lead_id < ${cursor}`,
    ])}
    order by l.lead_id desc limit ${limit}`);
  const leads = await findLeads(
    db,
    rows.map((row) => row.leadId),
  );
  const unsent = await findMessages(
    db,
    rows.flatMap(({ nextMessageId }) => nextMessageId ?? []),
  );
  const next = new Map((await findWaits(db, unsent, now)).map((found) => [found.row.id, found]));
  return rows.map((row) =>
    present(campaign, row, leads.get(row.leadId), next.get(row.nextMessageId ?? ''), now),
  );
}

/** null: it has not entered. */
export async function findCampaignLead(
  db: TenantDb,
  campaign: CampaignRow,
  leadId: string,
  now: Date,
): Promise<CampaignLead | null> {
  return (await listCampaignLeads(db, campaign, { leadId }, { limit: 1 }, now))[0] ?? null;
}

/** The leads that a number of the funnel counts, as `funnelOf` does. */
function countedLeads(
  db: TenantDb,
  campaign: CampaignRow,
  stepIndex: number,
  { counted, variant }: CampaignLeadFilter,
): FragmentSqlToken {
  const { id, steps } = campaign;
  const isCurrent = [...stepsById(steps).keys()].some((one) => stepNumbers(campaign).get(one) === stepIndex);
  return sql.fragment`
    select m.lead_id from messages m where ${sql.and([
      sql.fragment`m.workspace_id = ${db.workspaceId} and m.campaign_id = ${id} and m.step_index = ${stepIndex}`,
      isCurrent &&
        sql.fragment`not (m.status = 'canceled' and m.hold_reason is not distinct from 'step_removed')`,
      variant !== undefined && sql.fragment`m.variant = ${variant}`,
      counted !== undefined && isCounted(db, id, counted),
    ])}`;
}

function isCounted(db: TenantDb, campaignId: string, counted: FunnelCount): FragmentSqlToken {
  const statuses = (...some: string[]) => sql.fragment`m.status = any(${sql.array(some, 'text')})`;
  const untried = sql.fragment`coalesce(m.error_message = any(${sql.array([...UNTRIED], 'text')}), false)`;
  const waitsForOther = sql.fragment`m.hold_reason is not distinct from 'previous_step'`;
  const failed = sql.fragment`(m.status = 'failed' and not ${untried})`;
  const waiting = sql.fragment`(${statuses(...QUEUED)} and not ${waitsForOther})`;
  const responded = (kind: string) => sql.fragment`m.id in (
    select message_id from campaign_responses
    where workspace_id = ${db.workspaceId} and campaign_id = ${campaignId} and kind = ${kind})`;
  switch (counted) {
    case 'reached':
      return sql.fragment`(${statuses(...SENT)} or ${failed} or ${waiting})`;
    case 'sent':
      return statuses(...SENT);
    case 'delivered':
      return statuses('delivered');
    case 'read':
      return sql.fragment`m.read_at is not null`;
    case 'failed':
      return failed;
    case 'waiting':
      return waiting;
    case 'upcoming':
      return sql.fragment`(${statuses(...QUEUED)} and ${waitsForOther})`;
    case 'skipped':
      return sql.fragment`(m.status = 'canceled' or m.status = 'failed' and ${untried})`;
    case 'replied':
      return responded('reply');
    case 'optedOut':
      return responded('opt_out');
  }
}

function present(
  campaign: CampaignRow,
  { leadId, state, stopReason, enteredAt, stepId, nextStepId, ...times }: z.infer<typeof EnteredRow>,
  lead: LeadRow | undefined,
  next: FoundMessage | undefined,
  now: Date,
): CampaignLead {
  const isAt = stepsById(campaign.steps).get(nextStepId ?? stepId ?? '')?.id ?? null;
  const wait = next?.facts && whyItWaits(next.facts.line, next.facts.message, now);
  const { dueAt, pausedAt, pauseReason, resumesAt } = times;
  const runs = state === 'running';
  return {
    campaignId: campaign.id,
    leadId,
    firstName: lead?.firstName ?? '',
    lastName: lead?.lastName ?? '',
    phone: lead?.phones[0] ?? null,
    email: lead?.emails[0] ?? null,
    state,
    stopReason,
    stepId: runs ? isAt : null,
    stepIndex: runs && isAt !== null ? (stepNumbers(campaign).get(isAt) ?? null) : null,
    waitsUntil: runs && pausedAt === null ? (dueAt?.toISOString() ?? null) : null,
    waitingFor: runs && wait ? { reason: wait.reason, until: wait.until?.toISOString() ?? null } : null,
    pausedAt: runs ? (pausedAt?.toISOString() ?? null) : null,
    pauseReason: runs ? pauseReason : null,
    resumesAt: runs ? (resumesAt?.toISOString() ?? null) : null,
    enteredAt: enteredAt.toISOString(),
  };
}
