import { sql } from 'slonik';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { recordset } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wakeLines } from '#db/wakes/wakes.ts';
import { placeOfRecipient } from '#db/phones/phone-places.ts';

const WaitingRow = MessageRow.pick({ id: true, address: true, recipientPhone: true, lineId: true });

/** Places a lead's waiting messages in the lead's time zone, which has changed: their quiet hours may be over. */
export async function placeMessagesOfLead(
  db: TenantDb,
  leadId: string,
  timezone: string | null,
  now: Date,
): Promise<void> {
  const waiting = await db.any(sql.type(WaitingRow)`
    select id, address, recipient_phone, line_id from messages
    where workspace_id = ${db.workspaceId} and lead_id = ${leadId} and status in ('pending', 'scheduled')
    order by id for no key update`);
  if (waiting.length === 0) return;
  const rows = waiting.map((message) => {
    const zones = timezone === null ? placeOfRecipient(message).zones : [timezone];
    return { workspaceId: db.workspaceId, id: message.id, recipientZones: zones };
  });
  await db.query(sql.type(NoRows)`
    update messages m set recipient_zones = p.recipient_zones from ${recordset('messages', rows)} p
    where m.workspace_id = ${db.workspaceId} and m.id = p.id`);
  wakeLines(
    db,
    waiting.map(({ lineId }) => ({ lineId, scheduledAt: now })),
  );
}
