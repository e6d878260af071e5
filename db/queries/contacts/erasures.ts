import { sql } from 'slonik';
import { z } from 'zod';
import type { Contact } from '#domain/contacts/contact.ts';
import { isErased, newPseudonym } from '#domain/contacts/erasure.ts';
import { ROWS_INSERTED } from '#db/connection/recordset.ts';
import { AddressRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { texts } from './contacts.ts';
import { findLead } from './leads.ts';

/** An address of a contact that is being erased. */
export interface ErasedAddress {
  address: string;
  pseudonym: string;
  addressHash: string;
}

const ErasureRow = z.object({
  id: z.string(),
  leadIds: z.array(z.string()),
  addresses: z.array(z.string()),
  pseudonyms: z.array(z.string()),
  requestedAt: z.date(),
  eventsTo: z.string(),
});
/** An erasure in progress. `pseudonyms` are in the order of `addresses`. */
export type Erasure = z.infer<typeof ErasureRow>;

/** The pseudonym that replaces each address from now on. */
export async function pseudonymize(db: TenantDb, addresses: readonly string[]): Promise<ErasedAddress[]> {
  const hashes = await db.addressHashes.of(db.workspaceId, addresses);
  return addresses.map((address, index) => {
    const addressHash = hashes?.[index];
    if (addressHash === undefined) throw new Error('a process without encryption keys erases nobody');
    return { address, pseudonym: newPseudonym(), addressHash };
  });
}

export async function insertErasure(
  db: TenantDb,
  { id, leadIds, erased }: { id: string; leadIds: readonly string[]; erased: readonly ErasedAddress[] },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into contact_erasures (workspace_id, id, lead_ids) values (${db.workspaceId}, ${id}, ${texts(leadIds)})`);
  await db.query(sql.type(NoRows)`
    insert into erased_addresses (workspace_id, pseudonym, erasure_id, address, address_hash)
    select ${db.workspaceId}, a.pseudonym, ${id}, a.address, a.address_hash from ${asRows(erased)}
    ${ROWS_INSERTED}`);
}

/** Rows `a` of `address`, `pseudonym` and `address_hash`. */
export const asRows = (erased: readonly ErasedAddress[]) =>
  sql.fragment`${sql.unnest(
    erased.map(({ address, pseudonym, addressHash }) => [address, pseudonym, addressHash]),
    ['text', 'text', 'text'],
  )} as a (address, pseudonym, address_hash)`;

/** null: it is done. */
export async function findErasure(db: TenantDb, id: string): Promise<Erasure | null> {
  return db.maybeOne(sql.type(ErasureRow)`
    select e.id, e.lead_ids, e.requested_at, e.events_to,
      coalesce(array_agg(a.address order by a.pseudonym) filter (where a.address is not null), '{}') addresses,
      coalesce(array_agg(a.pseudonym order by a.pseudonym) filter (where a.address is not null), '{}') pseudonyms
    from contact_erasures e
    left join erased_addresses a on a.workspace_id = e.workspace_id and a.erasure_id = e.id
    where e.workspace_id = ${db.workspaceId} and e.id = ${id}
    group by e.workspace_id, e.id`);
}

/** The contact with the pseudonyms of its addresses. */
export const eitherForm = ({ addresses, pseudonyms, leadIds }: Erasure): Contact => ({
  addresses: [...addresses, ...pseudonyms],
  leadIds,
});

/** The pseudonym of a column's address, for rows of an erasure; of an address that is not the contact's, that of the row. */
export const pseudonymOf = (
  { addresses, pseudonyms }: Erasure,
  address: ReturnType<typeof sql.fragment>,
  id: ReturnType<typeof sql.fragment>,
) => sql.fragment`coalesce(
  (${texts(pseudonyms)})[array_position(${texts(addresses)}, ${address}::text)], 'erased:' || ${id})`;

/** Whether a message belongs to an erased contact or a deleted lead, so that it is neither sent nor retried. */
export async function isOfDeleted(
  db: TenantDb,
  { address, id, leadId }: { address: string; id: string; leadId: string | null },
): Promise<boolean> {
  if (isErased(address)) return true;
  if (leadId !== null && (await findLead(db, leadId)) === null) return true;
  return db.exists(sql.type(NoRows)`
    select from erased_addresses
    where workspace_id = ${db.workspaceId} and address = ${address} and erasure_id > ${id}`);
}

const PseudonymRow = z.object({ pseudonym: z.string() });

/** The address of a message, or its pseudonym once its contact is erased. */
export async function shownAddress(
  db: TenantDb,
  { address, id }: { address: string; id: string },
): Promise<string> {
  const [pseudonym] = await db.anyFirst(sql.type(PseudonymRow)`
    select pseudonym from erased_addresses
    where workspace_id = ${db.workspaceId} and address = ${address} and erasure_id > ${id} limit 1`);
  return pseudonym ?? address;
}

/** The given addresses that are being erased by a request after `id`. */
export async function erasingAmong(
  db: TenantDb,
  addresses: readonly string[],
  id: string,
): Promise<ReadonlySet<string>> {
  return new Set(
    await db.anyFirst(sql.type(AddressRow)`
      select address from erased_addresses
      where workspace_id = ${db.workspaceId} and address = any(${texts(addresses)}) and erasure_id > ${id}`),
  );
}

export async function setEventsTo(db: TenantDb, id: string, eventsTo: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update contact_erasures set events_to = ${eventsTo} where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Deletes the erased addresses; their pseudonyms are kept for a while with their hashes. */
export async function finishErasure(db: TenantDb, id: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update erased_addresses set address = null where workspace_id = ${db.workspaceId} and erasure_id = ${id}`);
  await db.query(sql.type(NoRows)`
    delete from contact_erasures where workspace_id = ${db.workspaceId} and id = ${id}`);
}
