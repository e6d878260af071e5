import { sql } from 'slonik';
import { z } from 'zod';
import { TYPING_MS } from '#domain/messages/message-action.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const PhoneRow = z.object({
  isTyping: z.boolean(),
  readMessageId: z.string().nullable(),
  readAt: z.date().nullable(),
});

/** Of how many messages in each direction actions are searched: an action is about one of the last. */
const LAST = 20;

/** What lines show a contact besides messages: that somebody types, and up to which of their messages was read. */
export async function contactPhone(
  db: TenantDb,
  address: string,
  now: Date,
): Promise<z.infer<typeof PhoneRow>> {
  const ofContact = sql.fragment`workspace_id = ${db.workspaceId} and address = ${address}`;
  // A message that arrives ends the typing before it.
  return db.one(sql.type(PhoneRow)`
    with last as (
      (select id from inbound_messages where ${ofContact} order by received_at desc, id desc limit ${LAST})
      union all
      (select id from messages where ${ofContact} order by coalesce(sent_at, scheduled_at) desc, id desc limit ${LAST})
    ), done as (
      select a.id, a.kind, a.message_id, a.content, a.finished_at from last
      join message_actions a on a.workspace_id = ${db.workspaceId} and a.message_id = last.id
      where a.status = 'done' and a.kind in ('typing', 'read')
    )
    select
      coalesce((
        select (content ->> 'on')::boolean and finished_at > ${sql.timestamp(new Date(now.getTime() - TYPING_MS))}
          and not exists (select from messages where ${ofContact} and sent_at > done.finished_at)
        from done where kind = 'typing' order by finished_at desc, id desc limit 1
      ), false) is_typing, read.message_id read_message_id, read.finished_at read_at
    from (select) one left join lateral (
      select message_id, finished_at from done where kind = 'read' order by finished_at desc, id desc limit 1
    ) "read" on true`);
}
