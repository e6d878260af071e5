import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import { CHANNELS } from '#domain/base/channel.ts';
import { type Facts, type Need, REPLY_TEXT } from '#domain/campaigns/judge.ts';
import { consentKey } from '#domain/contacts/consent.ts';
import { addressesOf, type LeadRow } from '../contacts/leads.ts';
import { consentedAmong } from '../contacts/consents.ts';
import { IS_CLICKED } from '../messages/message-links.ts';
import { IS_DISPATCHED } from '../messages/messages.ts';

/** The replies in which words are looked for. */
const LATEST_REPLIES = 20;

const ReplyRow = z.object({ leadId: z.string(), at: z.date(), text: z.string() });
const LastRow = z.object({
  leadId: z.string(),
  at: z.date(),
  isDelivered: z.boolean(),
  isRead: z.boolean(),
  isClicked: z.boolean(),
  isFailed: z.boolean(),
});
const ContactedRow = z.object({ leadId: z.string(), this: z.date().nullable(), any: z.date().nullable() });

/** A lead that is judged. */
export type JudgedLead = LeadRow & {
  /** When it entered the campaign. */
  enteredAt?: Date;
};

/**
 * The facts by which conditions about leads are judged; those that none of them needs are not read. Each is found by the addresses of
 * the leads, or by their ids in the campaign.
 * @param campaignId null: not in a campaign.
 */
export async function factsOf(
  db: TenantDb,
  leads: readonly JudgedLead[],
  needs: ReadonlySet<Need>,
  campaignId: string | null,
): Promise<ReadonlyMap<string, Facts>> {
  const targets = leads.flatMap((lead) =>
    addressesOf(lead).map((address) => [
      lead.id,
      address,
      (campaignId === null ? null : lead.enteredAt)?.toISOString() ?? '-infinity',
    ]),
  );
  const addressed = sql.fragment`${sql.unnest(targets, ['text', 'text', 'timestamptz'])} as t (lead_id, address, since)`;
  const ids = sql.array(
    leads.map(({ id }) => id),
    'text',
  );

  const replies = needs.has('replies')
    ? await db.any(sql.type(ReplyRow)`
        select t.lead_id, i.received_at "at", left(i.body, ${REPLY_TEXT}) "text" from ${addressed} cross join lateral (
          select received_at, body from inbound_messages
          where workspace_id = ${db.workspaceId} and address = t.address and created_at >= t.since
            and not auto_reply and keyword is distinct from 'stop' and warning is null
          order by received_at desc, id desc limit ${LATEST_REPLIES}
        ) i order by i.received_at desc`)
    : [];
  const state = sql.fragment`coalesce(m.sent_at, m.updated_at) "at", m.delivered_at is not null or m.status = 'delivered' is_delivered,
    m.read_at is not null is_read, ${needs.has('clicks') ? IS_CLICKED : sql.fragment`false`} is_clicked, m.status = 'failed' is_failed`;
  const left = sql.fragment`(${IS_DISPATCHED} or status = 'failed') and status <> 'sending'`;
  const last = needs.has('lastMessage')
    ? await db.any(
        campaignId === null
          ? sql.type(LastRow)`
              select distinct on (t.lead_id) t.lead_id, ${state} from ${addressed} cross join lateral (
                select * from messages
                where workspace_id = ${db.workspaceId} and address = t.address and ${left}
                order by id desc limit 1
              ) m order by t.lead_id, coalesce(m.sent_at, m.updated_at) desc`
          : sql.type(LastRow)`
              select distinct on (m.lead_id) m.lead_id, ${state} from messages m
              where workspace_id = ${db.workspaceId} and lead_id = any(${ids}) and campaign_id = ${campaignId} and ${left}
              order by m.lead_id, coalesce(m.sent_at, m.updated_at) desc, m.id desc`,
      )
    : [];
  const contacted = needs.has('contacted')
    ? await db.any(sql.type(ContactedRow)`
        select t.lead_id, max(m.sent_at) "any", max(m.sent_at) filter (where m.campaign_id = ${campaignId}) "this"
        from ${addressed} join messages m
          on m.workspace_id = ${db.workspaceId} and m.address = t.address and m.campaign_id is not null and m.sent_at is not null
        group by t.lead_id`)
    : [];
  const consented = needs.has('consents')
    ? await consentedAmong(
        db,
        leads.flatMap((lead) =>
          addressesOf(lead).flatMap((address) => CHANNELS.map((channel) => ({ address, channel }))),
        ),
      )
    : new Set<string>();

  const repliesOf = Map.groupBy(replies, ({ leadId }) => leadId);
  const lastOf = new Map(last.map(({ leadId, ...message }) => [leadId, message]));
  const contactedOf = new Map(contacted.map(({ leadId, ...at }) => [leadId, at]));
  return new Map(
    leads.map((lead): [string, Facts] => [
      lead.id,
      {
        lead,
        replies: repliesOf.get(lead.id) ?? [],
        lastMessage: lastOf.get(lead.id) ?? null,
        contactedAt: contactedOf.get(lead.id) ?? { this: null, any: null },
        consented: new Set(
          CHANNELS.filter((channel) =>
            addressesOf(lead).some((address) => consented.has(consentKey(address, channel))),
          ),
        ),
      },
    ]),
  );
}
