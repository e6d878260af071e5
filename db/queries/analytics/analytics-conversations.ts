import { sql } from 'slonik';
import { z } from 'zod';
import { type DayConversation, inboxHref } from '#domain/analytics/analytics-conversation.ts';
import type { Bounds } from '#domain/base/calendar.ts';
import { SHOWN_LENGTH, shownReply } from '#domain/inbox/reply.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const Row = z.object({
  address: z.string(),
  sent: z.int(),
  replied: z.int(),
  lastMessage: z.string(),
  lastDirection: z.enum(['in', 'out']),
  lastAt: z.date(),
  leadId: z.string().nullable(),
  name: z.string(),
  total: z.int(),
});

/** Nobody sees what was unsent. */
const SHOWN = sql.fragment`case when unsent_at is null then coalesce(sent_text, body) else '' end`;
const NOT_ERASED = sql.fragment`not starts_with(address, 'erased:')`;

/**
 * The conversations with a message or fallback SMS sent, or a message received, on a day, most recent activity first.
 * @returns their number, and the first `limit` of them.
 */
export async function conversationsOfDay(
  db: TenantDb,
  { start, end }: Bounds,
  { lineId, limit }: { lineId: string | undefined; limit: number },
): Promise<{ total: number; conversations: DayConversation[] }> {
  const [from, to] = [sql.timestamp(start), sql.timestamp(end)];
  const onLine = lineId === undefined ? sql.fragment`true` : sql.fragment`line_id = ${lineId}`;
  const rows = await db.any(sql.type(Row)`
    with exchanged as (
      select address, sent_at at, 'out' direction, ${SHOWN} body, lead_id, recipient_name, id from messages
      where workspace_id = ${db.workspaceId} and sent_at >= ${from} and sent_at < ${to}
        and status in ('sent', 'delivered') and ${onLine} and ${NOT_ERASED}
      union all
      select address, fallback_at, 'out', ${SHOWN}, lead_id, recipient_name, id from messages
      where workspace_id = ${db.workspaceId} and fallback_at >= ${from} and fallback_at < ${to}
        and status not in ('sent', 'delivered') and fallback_sms = 'dispatched' and ${onLine} and ${NOT_ERASED}
      union all
      select address, received_at, 'in', left(body, ${SHOWN_LENGTH}), lead_id, null, id from inbound_messages
      where workspace_id = ${db.workspaceId} and received_at >= ${from} and received_at < ${to} and ${onLine} and ${NOT_ERASED}
    ), active as (
      select address,
        count(*) filter (where direction = 'out') sent, count(*) filter (where direction = 'in') replied,
        max(at) last_at,
        (array_agg(body order by at desc, id desc))[1] last_message,
        (array_agg(direction order by at desc, id desc))[1] last_direction,
        (array_agg(lead_id order by at desc, id desc) filter (where lead_id is not null))[1] lead_id,
        (array_agg(recipient_name order by at desc) filter (where recipient_name <> ''))[1] recipient_name
      from exchanged group by address
    ), newest as (
      select *, count(*) over () total from active order by last_at desc, address limit ${limit}
    )
    select n.address, n.sent, n.replied, n.last_at, n.last_message, n.last_direction, l.id lead_id, n.total,
      coalesce(nullif(trim(concat_ws(' ', l.first_name, l.last_name)), ''), n.recipient_name, n.address) "name"
    from newest n left join leads l on l.workspace_id = ${db.workspaceId} and l.id = n.lead_id
    order by n.last_at desc, n.address`);
  return {
    total: rows[0]?.total ?? 0,
    conversations: rows.map(({ address, lastAt, lastMessage, total: _total, ...row }) => ({
      ...row,
      lastMessage: row.lastDirection === 'in' ? shownReply(lastMessage) : lastMessage,
      phone: address,
      lastAt: lastAt.toISOString(),
      inboxHref: inboxHref(address),
    })),
  };
}
