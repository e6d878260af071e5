import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import { groupName } from '#domain/inbox/group.ts';
import { findGroups } from '#db/queries/inbox/groups.ts';
import { contactName } from '#db/queries/inbox/replies.ts';

/** The replies of one contact since the last alert. */
export interface ReplyAlert {
  address: string;
  name: string;
  contactOwnerEmail: string | null;
  replies: { text: string; at: Date }[];
}

const REPLIES_PER_CONTACT = 20;

const Row = z.object({
  address: z.string(),
  body: z.string(),
  receivedAt: z.date(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  contactOwnerEmail: z.string().nullable(),
});

/** In the order of `contacts`; contacts without replies are omitted. */
export async function replyAlerts(
  db: TenantDb,
  contacts: readonly { address: string; since: Date }[],
): Promise<ReplyAlert[]> {
  if (contacts.length === 0) return [];
  const wanted = sql.unnest(
    contacts.map(({ address, since }) => [address, since.toISOString()]),
    ['text', 'timestamptz'],
  );
  const rows = await db.any(sql.type(Row)`
    select c.address, r.body, r.received_at, l.first_name, l.last_name, l.contact_owner_email
    from ${wanted} as c (address, since), lateral (
      select body, received_at, lead_id, id from inbound_messages
      where workspace_id = ${db.workspaceId} and address = c.address and not auto_reply
        and created_at >= date_trunc('milliseconds', c.since)
      order by received_at desc, id desc limit ${REPLIES_PER_CONTACT}
    ) r
    left join leads l on l.workspace_id = ${db.workspaceId} and l.id = r.lead_id
    order by r.received_at, r.id`);
  const groups = await findGroups(
    db,
    contacts.map(({ address }) => address),
  );
  const written = Map.groupBy(rows, ({ address }) => address);
  return contacts.flatMap(({ address }) => {
    const replies = written.get(address) ?? [];
    const last = replies.at(-1);
    if (!last) return [];
    const { firstName, lastName, contactOwnerEmail } = last;
    const group = groups.get(address);
    return {
      address,
      name: contactName(
        { firstName: firstName ?? '', lastName: lastName ?? '' },
        group ? groupName(group) : null,
        address,
      ),
      contactOwnerEmail,
      replies: replies.map(({ body, receivedAt }) => ({ text: body, at: receivedAt })),
    };
  });
}
