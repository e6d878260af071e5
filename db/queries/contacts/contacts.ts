import { sql } from 'slonik';
import { z } from 'zod';
import type { Contact } from '#domain/contacts/contact.ts';
import { formsOf } from '#domain/base/contact-key.ts';
import { AddressRow } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const ContactRow = z.object({ addresses: z.array(z.string()), leadIds: z.array(z.string()) });

/** The contact that a lead belongs to. */
export async function findContact(db: TenantDb, leadId: string): Promise<Contact> {
  const known = await db.one(sql.type(ContactRow)`
    with recursive contact (lead_id, address) as (
      select l.id::text, t.address from leads l left join lateral unnest(contact_keys(l.emails || l.phones)) as t (address) on true
      where l.workspace_id = ${db.workspaceId} and l.id = ${leadId}
      union
      select l.id::text, t.address from contact c
      join list_addresses a on a.workspace_id = ${db.workspaceId} and a.address = c.address
      join leads l on l.workspace_id = a.workspace_id and l.id = a.lead_id
      cross join lateral unnest(contact_keys(l.emails || l.phones)) as t (address)
    )
    select coalesce(array_agg(distinct address) filter (where address is not null), '{}') addresses,
      array_agg(distinct lead_id) lead_ids
    from contact`);
  const former = await formerAddresses(db, inAllForms(known));
  return inAllForms({ ...known, addresses: [...known.addresses, ...former] });
}

/** What is stored about a contact may name any form of its numbers. */
const inAllForms = (contact: Contact): Contact => ({
  ...contact,
  addresses: [...new Set(contact.addresses.flatMap(formsOf))],
});

/** Addresses that the contact was written to or wrote from, and that are of no other lead. */
async function formerAddresses(db: TenantDb, contact: Contact): Promise<readonly string[]> {
  return db.anyFirst(sql.type(AddressRow)`
    select distinct t.address from (
      select unnest(array[m.address, m.recipient_phone, m.recipient_email]) address from messages m
      where ${isMessageOf(db, contact)}
      union all
      select i.address from inbound_messages i where ${isReplyOf(db, contact)} and i.participant is null
    ) t
    where t.address is not null and t.address <> all(${texts(contact.addresses)}) and not exists (
      select from list_addresses a
      where a.workspace_id = ${db.workspaceId} and a.address = contact_key(t.address) and a.lead_id <> all(${texts(contact.leadIds)}))
    order by t.address`);
}

export const texts = (values: readonly string[]) => sql.array([...values], 'text');

/** Whether a message `m` is to the contact. */
export const isMessageOf = (db: TenantDb, { addresses, leadIds }: Contact) => sql.fragment`(
  m.workspace_id = ${db.workspaceId} and (
    m.address = any(${texts(addresses)}) or m.lead_id = any(${texts(leadIds)})
    or (m.recipient_phone = any(${texts(addresses)}) and m.recipient_phone <> m.address)
    or (m.recipient_email = any(${texts(addresses)}) and m.recipient_email <> m.address)))`;

/** Whether an inbound message `i` is from the contact. */
export const isReplyOf = (db: TenantDb, { addresses, leadIds }: Contact) => sql.fragment`(
  i.workspace_id = ${db.workspaceId} and (
    i.address = any(${texts(addresses)}) or i.lead_id = any(${texts(leadIds)}) or i.participant = any(${texts(addresses)})))`;
