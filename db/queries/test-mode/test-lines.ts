import { sql } from 'slonik';
import type { Channel } from '#domain/base/channel.ts';
import { IdRow } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/**
 * The line at which a test message from a contact arrives: the one with the id or the address, otherwise the one that the contact was
 * last in touch with, otherwise the oldest.
 * @param channel null: any that the contact's address has.
 */
export async function lineForInbound(
  db: TenantDb,
  {
    from,
    lineId,
    to,
    channel,
  }: { from: string; lineId: string | null; to: string | null; channel: Channel | null },
): Promise<string | null> {
  const named = sql.fragment`(${lineId}::text is null or l.id = ${lineId})
    and (${to}::text is null or coalesce(l.phone, l.email) = ${to})`;
  const suits =
    channel === null
      ? sql.fragment`(l.channel = 'email') = ${from.includes('@')}`
      : sql.fragment`l.channel = ${channel}`;
  return db.maybeOneFirst(sql.type(IdRow)`
    select l.id from lines l
    left join lateral (
      select max(a.started_at) at from attempts a
      where a.workspace_id = ${db.workspaceId} and a.line_id = l.id and a.address = ${from}
    ) last on true
    where l.workspace_id = ${db.workspaceId} and l.provisioning_status = 'active' and ${named} and ${suits}
    order by last.at desc nulls last, l.id limit 1`);
}
