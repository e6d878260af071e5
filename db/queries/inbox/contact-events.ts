import { sql } from 'slonik';
import { z } from 'zod';
import type { Contact } from '#domain/contacts/contact.ts';
import { IdRow } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { isMessageOf, isReplyOf, texts } from '../contacts/contacts.ts';

/** The number of the workspace's events that one statement searches. */
const CHUNK = 5000;

/** The last of the next events of the workspace; null when there are none. @param after their beginning: an id, or ''. */
export async function lastEventId(db: TenantDb, after: string): Promise<string | null> {
  const [last] = await db.anyFirst(sql.type(IdRow)`
    select id from (
      select id from events where workspace_id = ${db.workspaceId} and id > ${after} order by id limit ${CHUNK}
    ) chunk order by id desc limit 1`);
  return last ?? null;
}

const EventRow = z.object({ id: z.string(), event: z.string(), createdAt: z.date(), body: z.string() });

/**
 * Whether an event `e` is about the contact: it names one of their addresses or leads, or is about one of their messages.
 * There is no index for this: `after` and `last` limit the events to search.
 */
export const isEventOf = (
  db: TenantDb,
  contact: Contact,
  { after, last }: { after: string; last: string },
) => {
  const names = [...contact.addresses, ...contact.leadIds].map((name) => JSON.stringify(name));
  return sql.fragment`(
    e.workspace_id = ${db.workspaceId} and e.id > ${after} and e.id <= ${last} and (
      e.message_id in (
        select m.id from messages m where ${isMessageOf(db, contact)}
        union all select i.id from inbound_messages i where ${isReplyOf(db, contact)})
      or exists (select from unnest(${texts(names)}) as n (name) where strpos(e.body, n.name) > 0)))`;
};

export async function eventsOfContact(
  db: TenantDb,
  contact: Contact,
  range: { after: string; last: string },
): Promise<readonly z.infer<typeof EventRow>[]> {
  return db.any(sql.type(EventRow)`
    select e.id, e.event, e.created_at, e.body from events e where ${isEventOf(db, contact, range)} order by e.id`);
}
