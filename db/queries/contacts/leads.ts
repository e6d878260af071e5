import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { newId } from '#domain/base/ids.ts';
import { type Lead, LeadStatus, type NormalizedLead } from '#domain/contacts/lead.ts';
import { digitsSearched } from '#domain/base/phone.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { countLeads, hiddenLists } from './lists.ts';
import { AddressRow, IdRow, NameRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { insertion, recordset, ROWS_INSERTED } from '#db/connection/recordset.ts';

export const LeadRow = z.object({
  id: z.string(),
  workspaceId: z.string(),
  listId: z.string(),
  firstName: z.string(),
  lastName: z.string(),
  emails: z.array(z.string()),
  phones: z.array(z.string()),
  companyName: z.string(),
  jobTitle: z.string(),
  notes: z.string(),
  contactOwnerEmail: z.string().nullable(),
  timezone: z.string().nullable(),
  customFields: z.record(z.string(), z.string()),
  tags: z.array(z.string()),
  status: LeadStatus.nullable(),
  source: z.string().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type LeadRow = z.infer<typeof LeadRow>;

/** Whether a lead is in any list that is not deleted. */
export const isVisible = (db: TenantDb) => sql.fragment`(
  leads.list_id <> all(${hiddenLists(db)}) or exists (
    select from list_addresses a
    where a.workspace_id = ${db.workspaceId} and a.address = any(contact_keys(leads.emails || leads.phones)) and a.lead_id = leads.id
      and a.list_id <> all(${hiddenLists(db)})))`;

export async function findLeads(db: TenantDb, ids: readonly string[]): Promise<Map<string, LeadRow>> {
  if (ids.length === 0) return new Map();
  const rows = await db.any(sql.type(LeadRow)`
    select * from leads
    where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')}) and ${isVisible(db)}`);
  return new Map(rows.map((row) => [row.id, row]));
}

export async function findLead(db: TenantDb, id: string): Promise<LeadRow | null> {
  return (await findLeads(db, [id])).get(id) ?? null;
}

/**
 * Locks leads until the transaction ends, before the lists they are in. Serializes changing and deleting them, and adding
 * them to lists and campaigns.
 * @returns those that exist.
 */
export async function lockLeads(db: TenantDb, ids: readonly string[]): Promise<readonly LeadRow[]> {
  return db.any(sql.type(LeadRow)`
    select * from leads
    where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')})
    order by id for no key update`);
}

/**
 * Like `lockLeads`, for one lead; null if it is not visible. Reads it again under the lock, because its lists may have been
 * deleted meanwhile.
 */
export async function lockLead(db: TenantDb, id: string): Promise<LeadRow | null> {
  await lockLeads(db, [id]);
  return findLead(db, id);
}

const LeadAddressRow = z.object({ address: z.string(), leadId: z.string() });

/** The lead id for each address; the latest lead if several share one. */
export async function findLeadsByAddress(
  db: TenantDb,
  addresses: readonly string[],
): Promise<Map<string, string>> {
  if (addresses.length === 0) return new Map();
  const rows = await db.any(sql.type(LeadAddressRow)`${latestWith(db, addresses)}`);
  return new Map(rows.map(({ address, leadId }) => [address, leadId]));
}

const latestWith = (db: TenantDb, addresses: readonly string[]): FragmentSqlToken => sql.fragment`
  select address, max(lead_id) lead_id from list_addresses
  where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')})
    and list_id <> all(${hiddenLists(db)})
  group by address`;

const LeadZoneRow = z.object({ address: z.string(), timezone: z.string() });

/** The time zones of the leads that `findLeadsByAddress` finds, by address, without those that have none. */
export async function findZonesByAddress(
  db: TenantDb,
  addresses: readonly string[],
): Promise<Map<string, string>> {
  if (addresses.length === 0) return new Map();
  const rows = await db.any(sql.type(LeadZoneRow)`
    select a.address, l.timezone from (${latestWith(db, addresses)}) a
    join leads l on l.workspace_id = ${db.workspaceId} and l.id = a.lead_id and l.timezone is not null`);
  return new Map(rows.map(({ address, timezone }) => [address, timezone]));
}

/** The ids of the latest leads before an id that match a search. */
function idsMatching(
  search: string,
  { listId, before, limit }: { listId: string | null; before: string; limit: number },
): FragmentSqlToken {
  const matching = (text: string): FragmentSqlToken => {
    // The trigram index cannot be used for fewer than three characters.
    return sql.fragment`select find_leads(${text}, ${listId}, ${before}, ${limit}, ${text.length < 3})`;
  };
  const digits = digitsSearched(search) ?? search;
  return digits === search ? matching(search) : sql.fragment`${matching(search)} union ${matching(digits)}`;
}

/** The addresses of the latest leads that match a search. */
export async function addressesOfLeads(
  db: TenantDb,
  search: string,
  limit: number,
): Promise<readonly string[]> {
  return db.anyFirst(sql.type(AddressRow)`
    select distinct address from leads l cross join lateral unnest(contact_keys(l.emails || l.phones)) as t (address)
    where l.workspace_id = ${db.workspaceId}
      and l.id in (${idsMatching(search, { listId: null, before: MAX_ID, limit })})`);
}

/** Which leads are listed, and in which order. */
const listed = (
  db: TenantDb,
  { listId, search }: LeadFilter,
  { limit, before }: { limit: number; before: string },
): FragmentSqlToken => sql.fragment`
  ${sql.and([
    sql.fragment`workspace_id = ${db.workspaceId} and id < ${before} and ${isVisible(db)}`,
    search !== undefined &&
      sql.fragment`id in (${idsMatching(search, { listId: listId ?? null, before, limit })})`,
    // Limits the members first, so that the page does not need all leads of the list.
    search === undefined &&
      listId !== undefined &&
      sql.fragment`id in (
        select distinct lead_id from list_addresses
        where workspace_id = ${db.workspaceId} and list_id = ${listId} and lead_id < ${before}
        order by lead_id desc limit ${limit})`,
  ])}
  order by id desc limit ${limit}`;

interface LeadFilter {
  listId?: string | undefined;
  search?: string | undefined;
}

/** The ids of the newest leads. */
export async function listLeadIds(
  db: TenantDb,
  filter: LeadFilter,
  limit: number,
): Promise<readonly string[]> {
  return db.anyFirst(
    sql.type(IdRow)`select id from leads where ${listed(db, filter, { limit, before: MAX_ID })}`,
  );
}

/**
 * Newest first, starting after the id `cursor`. `search` matches any part of names, company and addresses; with one or
 * two characters, only their beginnings.
 */
export async function listLeads(
  db: TenantDb,
  filter: LeadFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<LeadRow[]> {
  const rows = await db.any(
    sql.type(LeadRow)`select * from leads where ${listed(db, filter, { limit, before: cursor ?? MAX_ID })}`,
  );
  return [...rows];
}

/** Sorts after every id, because ids are hexadecimal. */
const MAX_ID = 'g';

/** The names of all custom fields of a list's leads. */
export async function customFieldNames(db: TenantDb, listId: string): Promise<string[]> {
  const names = await db.anyFirst(sql.type(NameRow)`
    select distinct jsonb_object_keys(l.custom_fields) "name" from leads l
    where l.workspace_id = ${db.workspaceId} and l.id in (
      select lead_id from list_addresses where workspace_id = ${db.workspaceId} and list_id = ${listId})
    order by 1`);
  return [...names];
}

/** A saved lead, or, for a duplicate, the existing lead with the same address. */
export interface SavedLead {
  id: string;
  isNew: boolean;
}

/**
 * Adds leads to a list. Requires `lockList`. A lead that shares an email or phone with another one of the list, or with
 * an earlier one of this call, is a duplicate and is not stored.
 * @returns one entry per lead, in order.
 */
export async function insertLeads(
  db: TenantDb,
  listId: string,
  leads: readonly NormalizedLead[],
  { source, now }: { source: string | null; now: Date },
): Promise<SavedLead[]> {
  const candidates = leads.map((lead) => ({ id: newId(now), lead, addresses: addressesOf(lead) }));
  const first = new Map(
    candidates.toReversed().flatMap(({ id, addresses }) => addresses.map((address) => [address, id])),
  );
  const taken = await claimAddresses(db, listId, first);
  const known = new Map(taken);
  const unsaved = new Set(candidates.map(({ id }) => id));

  const rows: Record<string, unknown>[] = [];
  const late: string[][] = [];
  const result = candidates.map(({ id, lead, addresses }): SavedLead => {
    const owner = addresses.flatMap((address) => known.get(address) ?? [])[0];
    if (owner !== undefined) return { id: owner, isNew: false };
    unsaved.delete(id);
    for (const address of addresses) {
      known.set(address, id);
      // The one it was claimed for is a duplicate by another address.
      if (first.get(address) !== id) late.push([listId, address, id]);
    }
    rows.push({ ...lead, workspaceId: db.workspaceId, id, listId, source, createdAt: now, updatedAt: now });
    return { id, isNew: true };
  });
  await releaseAddresses(
    db,
    listId,
    [...first].flatMap(([address, id]) => (unsaved.has(id) && !taken.has(address) ? [address] : [])),
  );
  if (rows.length === 0) return result;
  await insertEntries(db, late);
  await db.query(sql.type(NoRows)`${insertion('leads', rows)}`);
  await countLeads(db, listId, rows.length);
  return result;
}

/**
 * Claims addresses for new leads. `on conflict` always uses the unique index, so a fast-growing table with stale
 * statistics cannot lead to a bad plan.
 * @param wanted the new lead of each address.
 * @returns the addresses that existing leads have, and whose they are.
 */
async function claimAddresses(
  db: TenantDb,
  listId: string,
  wanted: ReadonlyMap<string, string>,
): Promise<Map<string, string>> {
  if (wanted.size === 0) return new Map();
  const rows = await db.any(sql.type(LeadAddressRow)`
    insert into list_addresses (workspace_id, list_id, address, lead_id)
    select ${db.workspaceId}, ${listId}, w.address, w.lead_id
    from ${sql.unnest([...wanted], ['text', 'text'])} as w (address, lead_id)
    on conflict (workspace_id, address, list_id) do update set lead_id = list_addresses.lead_id
    returning address, lead_id`);
  return new Map(
    rows.flatMap(({ address, leadId }) => (wanted.get(address) === leadId ? [] : [[address, leadId]])),
  );
}

/** Releases what was claimed for leads that turned out to be duplicates by another address, found by the unique index. */
async function releaseAddresses(db: TenantDb, listId: string, addresses: readonly string[]): Promise<void> {
  if (addresses.length === 0) return;
  await db.query(sql.type(NoRows)`
    delete from list_addresses
    where workspace_id = ${db.workspaceId} and list_id = ${listId} and address = any(${sql.array([...addresses], 'text')})`);
}

async function insertEntries(db: TenantDb, entries: readonly string[][]): Promise<void> {
  if (entries.length === 0) return;
  await db.query(sql.type(NoRows)`
    insert into list_addresses (workspace_id, list_id, address, lead_id)
    select ${db.workspaceId}, e.list_id, e.address, e.lead_id
    from ${sql.unnest(entries, ['text', 'text', 'text'])} as e (list_id, address, lead_id)
    ${ROWS_INSERTED}`);
}

/**
 * Adds leads to another list. Requires `lockLeads`, then `lockList`. Addresses that belong to another lead of the list stay with that
 * lead.
 * @returns those that were added.
 */
export async function addLeadsToList(
  db: TenantDb,
  leads: readonly Pick<LeadRow, 'id' | 'emails' | 'phones'>[],
  listId: string,
): Promise<ReadonlySet<string>> {
  const entries = leads.flatMap((lead) => addressesOf(lead).map((address) => [address, lead.id]));
  const added = new Set(
    await db.anyFirst(sql.type(LeadIdRow)`
      insert into list_addresses (workspace_id, list_id, address, lead_id)
      select ${db.workspaceId}, ${listId}, address, lead_id from ${sql.unnest(entries, ['text', 'text'])} as t (address, lead_id)
      where not exists (select from list_addresses a
        where a.workspace_id = ${db.workspaceId} and a.list_id = ${listId} and a.lead_id = t.lead_id)
      on conflict do nothing returning lead_id`),
  );
  if (added.size > 0) await countLeads(db, listId, added.size);
  return added;
}

const LeadIdRow = z.object({ leadId: z.string() });
const MemberRow = LeadIdRow.extend({ listIds: z.array(z.string()) });

/** The lists that leads are in, by lead, without deleted ones. */
export async function listsOf(
  db: TenantDb,
  leads: readonly LeadRow[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await db.any(sql.type(MemberRow)`
    select lead_id, array_agg(distinct list_id::text order by list_id::text) list_ids from list_addresses
    where workspace_id = ${db.workspaceId} and lead_id = any(${sql.array(
      leads.map(({ id }) => id),
      'text',
    )}) and address = any(${sql.array(leads.flatMap(addressesOf), 'text')}) and list_id <> all(${hiddenLists(db)})
    group by lead_id`);
  return new Map(rows.map(({ leadId, listIds }) => [leadId, listIds]));
}

/**
 * Removes leads from a list, of which each is in another one. Requires `lockLeads`, then the locks of the lists. A lead that the list
 * owns goes to another one.
 */
export async function removeLeadsFromList(
  db: TenantDb,
  leads: readonly LeadRow[],
  listId: string,
): Promise<void> {
  if (leads.length === 0) return;
  const ids = sql.array(
    leads.map(({ id }) => id),
    'text',
  );
  await db.query(sql.type(NoRows)`
    delete from list_addresses
    where workspace_id = ${db.workspaceId} and list_id = ${listId} and lead_id = any(${ids})`);
  await countLeads(db, listId, -leads.length);
  const left = await listsOf(db, leads);
  const owned = leads
    .filter((lead) => lead.listId === listId)
    .map(({ id }) => [id, left.get(id)?.[0] ?? null]);
  if (owned.length > 0)
    await db.query(sql.type(NoRows)`
      update leads l set list_id = n.list_id from ${sql.unnest(owned, ['text', 'text'])} as n (id, list_id)
      where l.workspace_id = ${db.workspaceId} and l.id = n.id`);
}

/** Requires `lockLead`. */
export const setLeadTags = (db: TenantDb, id: string, tags: readonly string[]): Promise<LeadRow> =>
  db.one(sql.type(LeadRow)`
    update leads set tags = ${sql.array([...tags], 'text')}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id} returning *`);

/** Stores the tags, texts and custom fields of a lead, which do not concern its addresses. Requires `lockLeads`. */
export const changeLeadTexts = (
  db: TenantDb,
  { id, tags, customFields, companyName, jobTitle, notes }: LeadRow,
): Promise<LeadRow> =>
  db.one(sql.type(LeadRow)`
    update leads set tags = ${sql.array(tags, 'text')}, custom_fields = ${sql.jsonb(customFields)}, company_name = ${companyName},
      job_title = ${jobTitle}, notes = ${notes}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id} returning *`);

/** Sets the custom fields and owners of leads. Requires `lockLeads`. */
export async function setLeadFields(
  db: TenantDb,
  leads: readonly Pick<LeadRow, 'id' | 'customFields' | 'contactOwnerEmail'>[],
): Promise<void> {
  if (leads.length === 0) return;
  await db.query(sql.type(NoRows)`
    update leads l set custom_fields = n.custom_fields, contact_owner_email = n.contact_owner_email, updated_at = now()
    from ${recordset(
      'leads',
      leads.map(({ id, customFields, contactOwnerEmail }) => ({ id, customFields, contactOwnerEmail })),
    )} n
    where l.workspace_id = ${db.workspaceId} and l.id = n.id`);
}

/** By which a lead is found: one for all forms of a number. */
export const addressesOf = ({ emails, phones }: Pick<LeadRow, 'emails' | 'phones'>): string[] => [
  ...new Set([...emails, ...phones.map(contactKey)]),
];

/** Locks the lists that contain any of these leads, in id order, so that concurrent changes do not deadlock. Requires `lockLeads`. */
export async function lockListsOf(db: TenantDb, ...leads: readonly LeadRow[]): Promise<string[]> {
  const ids = await db.anyFirst(sql.type(IdRow)`
    select id from lead_lists where workspace_id = ${db.workspaceId} and id in (
      select list_id from list_addresses
      where workspace_id = ${db.workspaceId} and lead_id = any(${sql.array(
        leads.map(({ id }) => id),
        'text',
      )}) and address = any(${sql.array(leads.flatMap(addressesOf), 'text')})
    ) order by id for no key update`);
  return [...ids];
}

/**
 * Changes a lead. Requires `lockLead`.
 * @returns the updated lead; null: one of its addresses belongs to another lead of one of its lists.
 */
export async function updateLead(
  db: TenantDb,
  lead: LeadRow,
  changed: NormalizedLead,
): Promise<LeadRow | null> {
  const lists = await lockListsOf(db, lead);
  const addresses = addressesOf(changed);
  const isTaken = await db.exists(sql.type(NoRows)`
    select 1 from list_addresses
    where workspace_id = ${db.workspaceId} and list_id = any(${sql.array(lists, 'text')})
      and address = any(${sql.array(addresses, 'text')}) and lead_id <> ${lead.id}`);
  if (isTaken) return null;
  await removeEntries(db, lead);
  await insertEntries(
    db,
    lists.flatMap((listId) => addresses.map((address) => [listId, address, lead.id])),
  );
  return db.one(sql.type(LeadRow)`
    update leads set first_name = ${changed.firstName}, last_name = ${changed.lastName},
      emails = ${sql.array(changed.emails, 'text')}, phones = ${sql.array(changed.phones, 'text')},
      company_name = ${changed.companyName}, job_title = ${changed.jobTitle}, notes = ${changed.notes},
      contact_owner_email = ${changed.contactOwnerEmail}, timezone = ${changed.timezone}, custom_fields = ${sql.jsonb(changed.customFields)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${lead.id} returning *`);
}

const ListIdRow = z.object({ listId: z.string() });

/** @returns the lists that the lead was in. */
async function removeEntries(db: TenantDb, lead: LeadRow): Promise<Set<string>> {
  return new Set(
    await db.anyFirst(sql.type(ListIdRow)`
      delete from list_addresses
      where workspace_id = ${db.workspaceId} and lead_id = ${lead.id} and address = any(${sql.array(addressesOf(lead), 'text')})
      returning list_id`),
  );
}

/** Deletes a lead from all its lists. Requires `lockListsOf`. */
export async function deleteLeadFromLists(db: TenantDb, lead: LeadRow): Promise<void> {
  const lists = await removeEntries(db, lead);
  await db.query(
    sql.type(NoRows)`delete from leads where workspace_id = ${db.workspaceId} and id = ${lead.id}`,
  );
  for (const listId of lists) await countLeads(db, listId, -1);
}

export function presentLead(row: LeadRow): Lead {
  return {
    _id: row.id,
    workspaceId: row.workspaceId,
    listId: row.listId,
    firstName: row.firstName,
    lastName: row.lastName,
    email: row.emails[0] ?? null,
    phone: row.phones[0] ?? null,
    emails: row.emails,
    phones: row.phones,
    companyName: row.companyName,
    jobTitle: row.jobTitle,
    notes: row.notes,
    contactOwnerEmail: row.contactOwnerEmail,
    timezone: row.timezone,
    customFields: row.customFields,
    tags: row.tags,
    status: row.status,
    source: row.source,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
