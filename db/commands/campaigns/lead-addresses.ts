import { sql } from 'slonik';
import { z } from 'zod';
import { recordset } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { consentedAmong } from '#db/queries/contacts/consents.ts';
import { addressesOf, type LeadRow } from '#db/queries/contacts/leads.ts';
import { answerTimes } from '#db/queries/messages/contact-relation.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { lockSequencesOf } from '#db/queries/sending/message-locks.ts';
import { wakeLines } from '#db/wakes/wakes.ts';
import { addressOn } from '#domain/campaigns/campaign-schedule.ts';
import { consentKey } from '#domain/contacts/consent.ts';
import { stopLead, type StopReason } from './campaign-stops.ts';
import { recipientPlace } from './step-messages.ts';

const WaitingRow = MessageRow.pick({ id: true, channel: true, lineId: true }).extend({
  campaignId: z.string(),
  requireConsent: z.boolean(),
});
type Waiting = z.infer<typeof WaitingRow>;

/**
 * Has campaigns write to a lead at its new addresses, after some were taken from it: the former ones may belong to a stranger. A campaign
 * that cannot, or that writes there to another lead, lets it go. Messages that a caller addressed stay as they are. Requires `lockLead`.
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
  const waiting = await db.any(sql.type(WaitingRow)`
    select m.id, m.channel, m.line_id, m.campaign_id, c.require_consent
    from messages m join campaigns c on c.workspace_id = m.workspace_id and c.id = m.campaign_id
    where m.workspace_id = ${db.workspaceId} and m.lead_id = ${lead.id} and m.status in ('pending', 'scheduled')
      and m.step_index is not null and m.address <> all(${sql.array(own, 'text')})
    order by m.id`);
  if (waiting.length === 0) return;
  const taken = await takenIn(db, lead, waiting);
  const consented = await consentedAmong(
    db,
    waiting.flatMap(({ channel }) => {
      const address = addressOn(channel, lead);
      return address === null ? [] : [{ address, channel }];
    }),
  );
  const leaves = ({ channel, campaignId, requireConsent }: Waiting): StopReason | null => {
    const address = addressOn(channel, lead);
    if (address === null || taken.has(campaignId)) return 'removed';
    return requireConsent && !consented.has(consentKey(address, channel)) ? 'no_consent' : null;
  };
  const left = new Map(
    waiting.flatMap((message) => {
      const reason = leaves(message);
      return reason === null ? [] : [[message.campaignId, reason]];
    }),
  );
  for (const [campaignId, reason] of left) await stopLead(db, campaignId, lead.id, now, reason);
  await readdress(
    db,
    lead,
    waiting.filter(({ campaignId }) => !left.has(campaignId)),
    now,
  );
}

const CampaignIdRow = z.object({ campaignId: z.string() });

/** The campaigns that write to another lead at one of the addresses. */
async function takenIn(
  db: TenantDb,
  lead: LeadRow,
  waiting: readonly Waiting[],
): Promise<ReadonlySet<string>> {
  const addresses = waiting.flatMap(({ channel }) => addressOn(channel, lead) ?? []);
  return new Set(
    await db.anyFirst(sql.type(CampaignIdRow)`
      select l.campaign_id from list_addresses a
      join campaign_leads l on l.workspace_id = a.workspace_id and l.lead_id = a.lead_id
      where a.workspace_id = ${db.workspaceId} and a.address = any(${sql.array(addresses, 'text')}) and a.lead_id <> ${lead.id}
        and l.campaign_id = any(${sql.array(
          waiting.map(({ campaignId }) => campaignId),
          'text',
        )})`),
  );
}

async function readdress(
  db: TenantDb,
  lead: LeadRow,
  messages: readonly Waiting[],
  now: Date,
): Promise<void> {
  const addressed = messages.flatMap((message) => {
    const address = addressOn(message.channel, lead);
    return address === null ? [] : [{ ...message, address }];
  });
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
