import { sql } from 'slonik';
import { z } from 'zod';
import { addressOn } from '#domain/campaigns/campaign-schedule.ts';
import { messageSteps, placedSteps } from '#domain/campaigns/step.ts';
import { type CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import { findLeads, LeadRow } from '#db/queries/contacts/leads.ts';
import { findSegment, leadsFor, nextInSegment } from '#db/queries/contacts/segments.ts';
import { enters } from '#db/queries/campaigns/audience.ts';
import { AddressRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';
import { wake } from '#db/wakes/wakes.ts';
import {
  JUDGE_MS,
  lookOnceMore,
  NOTHING,
  type Traveller,
  type Walked,
  markSkipped,
  runsOf,
  settleWalks,
  walkLeads,
} from './campaign-walks.ts';
import { planRuns, reaches, type StepMessage } from './step-messages.ts';

/**
 * The next leads of a campaign's list or segment after `enteredTo`, in id order, up to some hundreds.
 * @returns `last`: up to where the list or segment has been read; null: to its end.
 */
export async function nextLeads(
  db: TenantDb,
  campaign: CampaignRow,
  limit: number,
  now: Date,
): Promise<{ leads: LeadRow[]; last: string | null }> {
  const { listId, segmentId, enteredTo } = campaign;
  if (segmentId !== null) {
    const segment = await findSegment(db, segmentId);
    if (!segment) return { leads: [], last: null };
    const range = { after: enteredTo, only: enters(db, campaign) };
    return nextInSegment(db, segment.conditions, range, now, JUDGE_MS);
  }
  if (listId === null) return { leads: [], last: null };
  const rows = await db.any(sql.type(LeadRow)`
    select l.* from (
      select distinct lead_id from list_addresses
      where workspace_id = ${db.workspaceId} and list_id = ${listId} and lead_id > ${enteredTo}
      order by lead_id limit ${limit}
    ) a
    join leads l on l.workspace_id = ${db.workspaceId} and l.id = a.lead_id
    order by l.id`);
  return { leads: [...rows], last: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
}

const CandidateRow = z.object({ leadId: z.string(), isSentOn: z.boolean() });

/**
 * The leads that changed and are in the segment of a live campaign now, those that were in that of a snapshot at the start, and those
 * that another campaign sent on. Forgets those that it looked at.
 */
export async function changedLeads(
  db: TenantDb,
  { id, segmentId }: CampaignRow,
  limit: number,
  now: Date,
): Promise<LeadRow[]> {
  const candidates = await db.any(sql.type(CandidateRow)`
    delete from campaign_candidates where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id in (
      select lead_id from campaign_candidates where workspace_id = ${db.workspaceId} and campaign_id = ${id}
      order by lead_id limit ${limit})
    returning lead_id, is_sent_on`);
  const leads = await findLeads(
    db,
    candidates.map(({ leadId }) => leadId),
  );
  const sentOn = new Set(candidates.flatMap(({ leadId, isSentOn }) => (isSentOn ? [leadId] : [])));
  const [entering, judged] = [
    [...leads.values()].filter((lead) => sentOn.has(lead.id)),
    [...leads.values()].filter((lead) => !sentOn.has(lead.id)),
  ];
  const segment = segmentId === null ? null : await findSegment(db, segmentId);
  return [...entering, ...(segment ? await leadsFor(db, judged, segment.conditions, now) : [])];
}

/** Whether leads wait for `changedLeads`. */
export const haveLeadsChanged = (db: TenantDb, id: string): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from campaign_candidates where workspace_id = ${db.workspaceId} and campaign_id = ${id}`);

/**
 * Plans the messages of leads that enter now, up to the first decision: those that can reach them, with their earliest time and line.
 * Stores as little as `planRuns`.
 */
export async function planEntry(
  db: TenantDb,
  campaign: CampaignRow,
  leads: readonly LeadRow[],
  now: Date,
): Promise<StepMessage[]> {
  const walks = await walkLeads(
    db,
    campaign,
    leads.map((lead) => startOf(lead, now)),
    now,
  );
  return planRuns(db, campaign, runsOf(walks), now);
}

/**
 * Enters leads into a campaign: they go as far as its steps allow now, and the messages that follow are created; the first is queued.
 * Leads that entered before are skipped, and so are others with the address of one that did. Requires `lockCampaign`.
 * @returns the number of leads that entered, of those among them that no message can reach or that were skipped without consent, and of
 * messages.
 */
export async function enterLeads(
  db: TenantDb,
  campaign: CampaignRow,
  leads: readonly LeadRow[],
  now: Date,
): Promise<{ admitted: number; unreachable: number; noConsent: number; messageCount: number }> {
  const fresh = await admit(db, campaign, await ofOtherPersons(db, campaign, leads), now);
  const admitted = fresh.size;
  const steps = messageSteps(campaign.steps).map(({ step }) => step);
  const entering = leads.filter(({ id }) => fresh.has(id));
  const unreachable = entering.filter(
    (lead) => steps.length > 0 && !steps.some((step) => reaches(lead, step)),
  );
  await markSkipped(db, campaign.id, new Set(unreachable.map(({ id }) => id)), 'no_address');
  const gone = new Set(unreachable);
  const walks = await walkLeads(
    db,
    campaign,
    entering.filter((lead) => !gone.has(lead)).map((lead) => startOf(lead, now)),
    now,
  );
  // What a step does to a lead needs its lock, which comes before those that this transaction has.
  const acting = walks.filter(({ does }) => does.length > 0);
  const going = walks.filter(({ does }) => does.length === 0);
  await letContinue(db, campaign, acting, now);
  const planned = await planRuns(db, campaign, runsOf(going), now);
  const { messageCount, noConsent } = await settleWalks(db, campaign, going, planned, now);
  await lookOnceMore(db, campaign, going, now);
  return { admitted, unreachable: unreachable.length, noConsent, messageCount };
}

/** Leaves leads at the first step, from where the campaign's workflow lets them continue at once. */
async function letContinue(
  db: TenantDb,
  { id, steps, status }: CampaignRow,
  walks: readonly Walked[],
  now: Date,
): Promise<void> {
  const first = placedSteps(steps)[0];
  if (walks.length === 0 || !first) return;
  const ids = sql.array(
    walks.map(({ lead }) => lead.id),
    'text',
  );
  await db.query(sql.type(NoRows)`
    update campaign_leads set step_id = ${first.id}, arrived_at = ${sql.timestamp(now)}, due_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id = any(${ids})`);
  if (status === 'active') wake(db, campaignWorkflowId(id), now, 'progressDue');
}

const startOf = (lead: LeadRow, now: Date): Traveller => ({
  lead: { ...lead, enteredAt: now },
  cursor: { stepId: null, isPassed: false, at: now },
  received: NOTHING,
  unsent: null,
});

/**
 * The leads at whose addresses the campaign does not write yet. Whoever is in several lists is several leads, but one person, who gets each
 * step once.
 */
async function ofOtherPersons(
  db: TenantDb,
  { id, steps }: CampaignRow,
  leads: readonly LeadRow[],
): Promise<LeadRow[]> {
  const channels = new Set(messageSteps(steps).map(({ step }) => step.messageType));
  const addressesOf = (lead: LeadRow) => [...channels].flatMap((channel) => addressOn(channel, lead) ?? []);
  const addresses = [...new Set(leads.flatMap(addressesOf))];
  const taken = new Set(
    await db.anyFirst(sql.type(AddressRow)`
      select a.address from list_addresses a
      join campaign_leads l on l.workspace_id = ${db.workspaceId} and l.campaign_id = ${id} and l.lead_id = a.lead_id
      where a.workspace_id = ${db.workspaceId} and a.address = any(${sql.array(addresses, 'text')})`),
  );
  return leads.filter((lead) => {
    const own = addressesOf(lead);
    if (own.some((address) => taken.has(address))) return false;
    own.forEach((address) => taken.add(address));
    return true;
  });
}

const LeadIdRow = z.object({ leadId: z.string() });

/** Records the leads that enter. @returns their ids, without those that entered before. */
async function admit(
  db: TenantDb,
  { id: campaignId, version }: CampaignRow,
  leads: readonly LeadRow[],
  now: Date,
): Promise<Set<string>> {
  const ids = await db.anyFirst(sql.type(LeadIdRow)`
    insert into campaign_leads (workspace_id, campaign_id, lead_id, version, entered_at)
    select ${db.workspaceId}, ${campaignId}, l.id, ${version}, ${sql.timestamp(now)} from ${sql.unnest(
      leads.map(({ id }) => [id]),
      ['text'],
    )} as l (id)
    on conflict do nothing returning lead_id`);
  return new Set(ids);
}
