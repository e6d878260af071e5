import { sql } from 'slonik';
import { z } from 'zod';
import { recordset } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import { addressesOf, type LeadRow } from '#db/queries/contacts/leads.ts';
import { answerTimes } from '#db/queries/messages/contact-relation.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { wakeLines } from '#db/wakes/wakes.ts';
import { addressOn } from '#domain/campaigns/campaign-schedule.ts';
import { messageSteps } from '#domain/campaigns/step.ts';
import { stopLead, type StopReason } from './campaign-stops.ts';
import { cancelRemoved } from './revisions.ts';
import { reaches, recipientPlace, withConsent } from './step-messages.ts';

const WaitingRow = MessageRow.pick({ id: true, channel: true, lineId: true }).extend({
  campaignId: z.string(),
});
type Waiting = z.infer<typeof WaitingRow>;
type Addressed = Waiting & { address: string };

/**
 * What campaigns have not sent yet to a lead, at addresses that it has no more.
 * @param campaignId default: all campaigns.
 */
export async function waitingAtFormer(
  db: TenantDb,
  lead: LeadRow,
  campaignId?: string,
): Promise<readonly Waiting[]> {
  return db.any(sql.type(WaitingRow)`
    select m.id, m.channel, m.line_id, m.campaign_id from messages m
    where m.workspace_id = ${db.workspaceId} and m.lead_id = ${lead.id} and m.status in ('pending', 'scheduled')
      and m.step_index is not null and m.campaign_id is not null and m.address <> all(${sql.array([...addressesOf(lead)], 'text')})
      ${campaignId === undefined ? sql.fragment`` : sql.fragment`and m.campaign_id = ${campaignId}`}
    order by m.id`);
}

/**
 * Has a campaign write to a lead at its new addresses: the former ones may belong to a stranger. Steps by a channel on which it has
 * none any more are skipped. A campaign that writes there to another lead, or lacks the consent, lets it go. Requires the locks of the
 * sequence and its messages.
 * @returns the skipped messages, after which the sequence goes on.
 */
export async function followAddressesIn(
  db: TenantDb,
  campaign: CampaignRow,
  lead: LeadRow,
  messages: readonly Waiting[],
  now: Date,
): Promise<readonly string[]> {
  const addressed = messages.flatMap((message): Addressed[] => {
    const address = addressOn(message.channel, lead);
    return address === null ? [] : [{ ...message, address }];
  });
  const reason = await whyLeaves(db, campaign, lead, addressed);
  if (reason !== null) {
    await stopLead(db, campaign.id, lead.id, now, reason);
    return [];
  }
  await readdress(db, lead, addressed, now);
  const reached = new Set(addressed.map(({ id }) => id));
  const unreachable = messages.flatMap(({ id }) => (reached.has(id) ? [] : [id]));
  await cancelRemoved(db, unreachable, now);
  return unreachable;
}

/** null: the lead stays in the campaign. */
async function whyLeaves(
  db: TenantDb,
  campaign: CampaignRow,
  lead: LeadRow,
  addressed: readonly Addressed[],
): Promise<StopReason | null> {
  if (!messageSteps(campaign.steps).some(({ step }) => reaches(lead, step))) return 'no_address';
  if (await writesToAnother(db, campaign, lead, addressed)) return 'removed';
  const { refused } = await withConsent(db, campaign, addressed);
  return refused.length > 0 ? 'no_consent' : null;
}

/** Whether the campaign writes to another lead at one of the addresses. */
const writesToAnother = (
  db: TenantDb,
  campaign: CampaignRow,
  lead: LeadRow,
  addressed: readonly Addressed[],
): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from list_addresses a
    join campaign_leads l on l.workspace_id = a.workspace_id and l.lead_id = a.lead_id
    where a.workspace_id = ${db.workspaceId} and l.campaign_id = ${campaign.id} and a.lead_id <> ${lead.id}
      and a.address = any(${sql.array(
        addressed.map(({ address }) => address),
        'text',
      )})`);

async function readdress(
  db: TenantDb,
  lead: LeadRow,
  addressed: readonly Addressed[],
  now: Date,
): Promise<void> {
  if (addressed.length === 0) return;
  const answersUntil = await answerTimes(db, new Set(addressed.map(({ address }) => address)));
  const rows = addressed.map(({ id, address }) => {
    const { zones, region } = recipientPlace(lead, address);
    return {
      id,
      address,
      recipientPhone: lead.phones[0] ?? null,
      recipientEmail: lead.emails[0] ?? null,
      recipientZones: zones,
      recipientRegion: region,
      answersUntil: answersUntil.get(address) ?? null,
    };
  });
  await db.query(sql.type(NoRows)`
    update messages m set address = n.address, recipient_phone = n.recipient_phone, recipient_email = n.recipient_email,
      recipient_zones = n.recipient_zones, recipient_region = n.recipient_region, answers_until = n.answers_until, updated_at = now()
    from ${recordset('messages', rows)} n
    where m.workspace_id = ${db.workspaceId} and m.id = n.id`);
  wakeLines(
    db,
    addressed.map(({ lineId }) => ({ lineId, scheduledAt: now })),
  );
}
