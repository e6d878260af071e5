import { sql } from 'slonik';
import { z } from 'zod';
import { placeOf } from '#db/phones/phone-places.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { SentMessages } from '#domain/sending/quiet-hours-preview.ts';
import { MessageRecipient, recipientOf } from './message-recipient.ts';
import { MessageWindow, sendWindow } from './message-window.ts';

/** The maximum number of messages to read; if there are more, the newest. */
export const MAX_SENT = 20_000;

/** The latest messages sent since a time. Reads at most this many index entries, whatever the size of the workspace. */
const latestSent = (db: TenantDb, since: Date, limit: number) => sql.fragment`
  select * from messages where workspace_id = ${db.workspaceId} and sent_at >= ${sql.timestamp(since)}
  order by sent_at desc limit ${limit}`;

/** The longest country code has three digits, as has an area code of North America. */
const DIGITS = 4;

const GroupRow = MessageRecipient.extend({
  ...MessageWindow.shape,
  digits: z.string().nullable(),
  areAnswers: z.boolean(),
  minutes: z.array(z.int()),
});

/**
 * The latest messages sent since a time, at most `MAX_SENT`, by recipient and rules; their times without seconds. If the
 * place of a recipient was not stored with the message, it is derived from the first digits of the number.
 */
export async function sentMessages(db: TenantDb, since: Date, limit = MAX_SENT): Promise<SentMessages[]> {
  const rows = await db.any(sql.type(GroupRow)`
    select source, campaign_id, recipient_zones, recipient_region, window_timezone, window_start, window_end, window_days,
      case when recipient_zones is null and recipient_region is null
        then left(case when starts_with(address, '+') then address else recipient_phone end, ${DIGITS + 1}) end digits,
      coalesce(answers_until > sent_at, false) are_answers,
      array_agg(floor(extract(epoch from sent_at) / 60)::int4 order by sent_at) minutes
    from (${latestSent(db, since, limit)}) m
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10`);
  return rows.map(({ digits, areAnswers, minutes, ...row }) => ({
    recipient: { ...recipientOf(row), ...(digits !== null && placeOf(digits)) },
    ...sendWindow(row),
    areAnswers,
    at: minutes.map((minute) => new Date(minute * 60_000)),
  }));
}

const CampaignRow = z.object({
  campaignId: z.string(),
  name: z.string(),
  requireConsent: z.boolean(),
  granted: z.int(),
  revoked: z.int(),
  unknown: z.int(),
});
export type CampaignConsents = z.infer<typeof CampaignRow>;

/**
 * What the recipients of campaigns had consented to when a message was sent to them, among the latest messages sent since a
 * time, at most `MAX_SENT`. A recipient counts once for each campaign, with the last of its messages.
 */
export async function sentCampaigns(
  db: TenantDb,
  since: Date,
  limit = MAX_SENT,
): Promise<readonly CampaignConsents[]> {
  return db.any(sql.type(CampaignRow)`
    with recipients as (
      select distinct on (campaign_id, address) campaign_id, address, channel, sent_at
      from (${latestSent(db, since, limit)}) m
      where campaign_id is not null and not starts_with(address, 'erased:')
      order by campaign_id, address, sent_at desc
    )
    select r.campaign_id, k.name, k.require_consent,
      count(*) filter (where latest.status = 'granted') granted,
      count(*) filter (where latest.status = 'revoked') revoked,
      count(*) filter (where latest.status is null) unknown
    from recipients r
    join campaigns k on k.workspace_id = ${db.workspaceId} and k.id = r.campaign_id
    left join lateral (
      select c.status from consents c
      where c.workspace_id = ${db.workspaceId} and c.address = r.address and c.channel in (r.channel, 'any') and c.at <= r.sent_at
      order by c.at desc, c.id desc limit 1
    ) latest on true
    group by 1, 2, 3 order by count(*) filter (where latest.status is distinct from 'granted') desc, 1`);
}

const SpanRow = z.object({ count: z.int(), from: z.date().nullable() });

/** How many messages sent since a time are read, and when the first of them was sent. */
export async function sentSpan(
  db: TenantDb,
  since: Date,
  limit = MAX_SENT,
): Promise<z.infer<typeof SpanRow>> {
  return db.one(sql.type(SpanRow)`
    select count(*), min(sent_at) "from" from (
      select sent_at from messages where workspace_id = ${db.workspaceId} and sent_at >= ${sql.timestamp(since)}
      order by sent_at desc limit ${limit}
    ) m`);
}
