import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { CrmContact, SharedFields } from '#domain/crm/contact.ts';

const Seen = z.object({
  firstName: z.string(),
  lastName: z.string(),
  companyName: z.string(),
  jobTitle: z.string(),
  emails: z.array(z.string()),
  phones: z.array(z.string()),
  contactOwnerEmail: z.string().nullable(),
});

const Row = z.object({
  contactId: z.string(),
  state: z.enum(['linked', 'refused', 'forgotten']),
  leadId: z.string().nullable(),
  seen: z.union([Seen, z.object({}).transform(() => null)]),
  modifiedAt: z.date(),
  textsOptedOut: z.boolean(),
  emailsOptedOut: z.boolean(),
  toldAt: z.date().nullable(),
});
export type CrmLinkRow = z.infer<typeof Row>;

export const findCrmLink = (
  db: TenantDb,
  connectionId: string,
  contactId: string,
): Promise<CrmLinkRow | null> =>
  db.maybeOne(sql.type(Row)`
    select * from crm_links
    where workspace_id = ${db.workspaceId} and connection_id = ${connectionId} and contact_id = ${contactId}`);

/** The contact that is a lead; the latest if several are. */
export const crmLinkOfLead = (
  db: TenantDb,
  connectionId: string,
  leadId: string,
): Promise<CrmLinkRow | null> =>
  db.maybeOne(sql.type(Row)`
    select * from crm_links
    where workspace_id = ${db.workspaceId} and lead_id = ${leadId} and connection_id = ${connectionId} and state = 'linked'
    order by modified_at desc, contact_id limit 1`);

const IdRow = z.object({ contactId: z.string() });

/** The contacts of those given that were not seen in this version, in order. */
export async function unseenContacts(
  db: TenantDb,
  connectionId: string,
  contacts: readonly CrmContact[],
): Promise<readonly CrmContact[]> {
  if (contacts.length === 0) return [];
  const versions = contacts.map(({ id, modifiedAt }) => [id, modifiedAt.toISOString()]);
  const seen = new Set(
    await db.anyFirst(sql.type(IdRow)`
      select l.contact_id from ${sql.unnest(versions, ['text', 'text'])} as v (contact_id, modified_at)
      join crm_links l on l.workspace_id = ${db.workspaceId} and l.connection_id = ${connectionId} and l.contact_id = v.contact_id
      where l.state = 'forgotten' or l.modified_at >= v.modified_at::timestamptz`),
  );
  return contacts.filter(({ id }) => !seen.has(id));
}

/** Whether the CRM received an opt-out or opt-in after this version of the contact. */
export const isOlderThanPush = (link: Pick<CrmLinkRow, 'toldAt'> | null, modifiedAt: Date): boolean =>
  (link?.toldAt ?? modifiedAt) > modifiedAt;

/** Stores which version of a contact was seen, and what became of it. */
export async function saveCrmLink(
  db: TenantDb,
  connectionId: string,
  { id, modifiedAt, textsOptedOut, emailsOptedOut }: CrmContact,
  link: { state: 'linked'; leadId: string; seen: SharedFields } | { state: 'refused' },
): Promise<void> {
  const leadId = link.state === 'linked' ? link.leadId : null;
  const seen =
    link.state === 'linked'
      ? { ...link.seen, emails: [...link.seen.emails], phones: [...link.seen.phones] }
      : {};
  await db.query(sql.type(NoRows)`
    insert into crm_links
      (workspace_id, connection_id, contact_id, state, lead_id, seen, modified_at, texts_opted_out, emails_opted_out)
    values (${db.workspaceId}, ${connectionId}, ${id}, ${link.state}, ${leadId}, ${sql.jsonb(seen)},
      ${sql.timestamp(modifiedAt)}, ${textsOptedOut}, ${emailsOptedOut})
    on conflict (workspace_id, connection_id, contact_id) do update set state = excluded.state, lead_id = excluded.lead_id,
      seen = excluded.seen, modified_at = excluded.modified_at,
      texts_opted_out = case when crm_links.told_at > excluded.modified_at then crm_links.texts_opted_out
        else excluded.texts_opted_out end,
      emails_opted_out = case when crm_links.told_at > excluded.modified_at then crm_links.emails_opted_out
        else excluded.emails_opted_out end`);
}

/** The CRM has received it. @param toldAt by its clock. */
export async function setCrmOptOut(
  db: TenantDb,
  connectionId: string,
  contactId: string,
  { of, isOptedOut, toldAt }: { of: 'texts' | 'emails'; isOptedOut: boolean; toldAt: Date },
): Promise<void> {
  const column = of === 'texts' ? sql.fragment`texts_opted_out` : sql.fragment`emails_opted_out`;
  await db.query(sql.type(NoRows)`
    update crm_links set ${column} = ${isOptedOut}, told_at = ${sql.timestamp(toldAt)}
    where workspace_id = ${db.workspaceId} and connection_id = ${connectionId} and contact_id = ${contactId}`);
}

/** The contact is not in the CRM any more. If it comes back, it is read again. */
export async function deleteCrmLink(db: TenantDb, connectionId: string, contactId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from crm_links
    where workspace_id = ${db.workspaceId} and connection_id = ${connectionId} and contact_id = ${contactId}`);
}

/** The contacts of erased leads do not come back from the CRM. Nothing of what they were is kept except their ids there. */
export async function forgetCrmContacts(db: TenantDb, leadIds: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    update crm_links set state = 'forgotten', lead_id = null, seen = '{}'
    where workspace_id = ${db.workspaceId} and lead_id = any(${sql.array([...leadIds], 'text')})`);
}
