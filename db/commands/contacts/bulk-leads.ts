import { currentTime } from '#domain/base/clock.ts';
import { isDeepStrictEqual } from 'node:util';
import type { TenantDb } from '#db/connection/transactions.ts';
import { requireCustomFields } from '#db/queries/accounts/limits.ts';
import { contactOwners } from '#db/queries/accounts/workspace-users.ts';
import {
  addLeadsToList,
  addressesOf,
  findLeads,
  type LeadRow,
  listsOf,
  lockLeads,
  removeLeadsFromList,
  setLeadFields,
} from '#db/queries/contacts/leads.ts';
import { lockList } from '#db/queries/contacts/lists.ts';
import { optedOutAmong } from '#db/queries/contacts/opt-outs.ts';
import type { Changed, Skipped, SkipReason } from '#domain/base/bulk.ts';
import { changedFields, type LeadBulkState, type LeadsChange } from '#domain/contacts/bulk-leads.ts';
import { emitLeadEvents } from './lead-events.ts';
import { deleteLeads } from './delete-leads.ts';
import { type Author, optOut } from './opt-outs.ts';

interface Outcome {
  changed: Changed<LeadBulkState>[];
  skipped: Skipped[];
}

/** Changes leads, each as by itself. @param listId the leads must still be in this list. */
export async function changeManyLeads(
  db: TenantDb,
  ids: readonly string[],
  listId: string | undefined,
  change: LeadsChange,
  { author, now }: { author: Author; now: Date },
): Promise<Outcome> {
  if (change.optOut) return optOutMany(db, await findAll(db, ids, listId), author, now);
  await lockLeads(db, ids);
  const found = await findAll(db, ids, listId);
  if (change.delete) {
    await deleteLeads(db, found.leads, now);
    return done(found.leads, found.skipped);
  }
  const { addToListId: add, removeFromListId: remove } = change;
  const { changed, skipped } =
    add === undefined && remove === undefined
      ? await changeFields(db, found.leads, change)
      : await changeLists(db, found.leads, { add, remove });
  return { changed, skipped: [...found.skipped, ...skipped] };
}

interface Found {
  leads: LeadRow[];
  skipped: Skipped[];
}

async function findAll(db: TenantDb, ids: readonly string[], listId: string | undefined): Promise<Found> {
  const known = await findLeads(db, ids);
  const lists = listId === undefined ? null : await listsOf(db, [...known.values()]);
  const isFound = (id: string): boolean =>
    known.has(id) && (listId === undefined || lists?.get(id)?.includes(listId) === true);
  return {
    leads: ids.filter(isFound).flatMap((id) => known.get(id) ?? []),
    skipped: ids.filter((id) => !isFound(id)).map((item) => ({ item, reason: 'not_found' })),
  };
}

const done = (leads: readonly LeadRow[], skipped: Skipped[]): Outcome => ({
  changed: leads.map(({ id }) => ({ item: id, before: {}, after: {} })),
  skipped,
});

async function optOutMany(
  db: TenantDb,
  { leads, skipped }: Found,
  author: Author,
  now: Date,
): Promise<Outcome> {
  const optedOut = await optedOutAmong(db, leads.flatMap(addressesOf));
  const open = leads.filter((lead) => addressesOf(lead).some((address) => !optedOut.has(address)));
  const addresses = new Set(open.flatMap(addressesOf).filter((address) => !optedOut.has(address)));
  for (const address of [...addresses].toSorted())
    await optOut(db, address, { source: 'api', at: now, now, author });
  return done(open, [...skipped, ...unchanged(leads, new Set(open))]);
}

const unchanged = (leads: readonly LeadRow[], changed: ReadonlySet<LeadRow>): Skipped[] =>
  leads.filter((lead) => !changed.has(lead)).map(({ id }) => ({ item: id, reason: 'unchanged' }));

interface Lists {
  add: string | undefined;
  remove: string | undefined;
}

/** Adds leads to one list and removes them from another, as far as they are not that way. */
async function changeLists(
  db: TenantDb,
  leads: readonly LeadRow[],
  { add, remove }: Lists,
): Promise<Outcome> {
  const changed: Changed<LeadBulkState>[] = [];
  const skipped: Skipped[] = [];
  const skip = ({ id }: LeadRow, reason: SkipReason): number => skipped.push({ item: id, reason });
  // In one order, so that moves in both directions do not deadlock.
  for (const id of [add, remove].filter((one) => one !== undefined).toSorted())
    if (!(await lockList(db, id)) && id === add) {
      for (const lead of leads) skip(lead, 'list_deleted');
      return { changed, skipped };
    }
  const members = await listsOf(db, leads);
  const isIn = ({ id }: LeadRow, listId: string | undefined): boolean =>
    listId !== undefined && members.get(id)?.includes(listId) === true;
  const joining = add === undefined ? [] : leads.filter((lead) => !isIn(lead, add));
  const added =
    add === undefined || joining.length === 0 ? new Set<string>() : await addLeadsToList(db, joining, add);
  const leaving: LeadRow[] = [];
  for (const lead of leads) {
    const joins = joining.includes(lead);
    if (joins && !added.has(lead.id)) skip(lead, 'duplicate');
    else if (!isIn(lead, remove)) {
      if (!joins) skip(lead, 'unchanged');
    } else if (add === undefined && members.get(lead.id)?.length === 1) skip(lead, 'only_list');
    else leaving.push(lead);
  }
  if (remove !== undefined) await removeLeadsFromList(db, leaving, remove);
  const left = new Set(leaving.map(({ id }) => id));
  for (const { id } of leads) {
    const before = {
      ...(add !== undefined && added.has(id) && { [add]: false }),
      ...(remove !== undefined && left.has(id) && { [remove]: true }),
    };
    if (Object.keys(before).length > 0)
      changed.push({ item: id, before: { lists: before }, after: { lists: inverse(before) } });
  }
  return { changed, skipped };
}

const inverse = (lists: Record<string, boolean>): Record<string, boolean> =>
  Object.fromEntries(Object.entries(lists).map(([id, isMember]) => [id, !isMember]));

type Fields = Pick<LeadsChange, 'contactOwnerEmail' | 'customFields'>;

async function changeFields(db: TenantDb, leads: readonly LeadRow[], change: Fields): Promise<Outcome> {
  const { customFields, contactOwnerEmail: given } = change;
  const owner = given === undefined ? undefined : (await contactOwners(db, [given]))(given);
  return setFields(
    db,
    leads.map((lead) => ({
      lead,
      after: {
        ...(owner !== undefined && { contactOwnerEmail: owner }),
        ...(customFields && { customFields }),
      },
    })),
  );
}

async function setFields(
  db: TenantDb,
  wanted: readonly { lead: LeadRow; after: LeadBulkState }[],
): Promise<Outcome> {
  const changed: Changed<LeadBulkState>[] = [];
  const skipped: Skipped[] = [];
  const written: Pick<LeadRow, 'id' | 'customFields' | 'contactOwnerEmail'>[] = [];
  for (const { lead, after } of wanted) {
    const { id } = lead;
    const before = fieldsLike(lead, after);
    const customFields = changedFields(lead.customFields, after.customFields ?? {});
    if (isDeepStrictEqual(before, after)) skipped.push({ item: id, reason: 'unchanged' });
    else if (customFields === null) skipped.push({ item: id, reason: 'too_many_fields' });
    else {
      const { contactOwnerEmail = lead.contactOwnerEmail } = after;
      written.push({ id, customFields, contactOwnerEmail });
      changed.push({ item: id, before, after });
    }
  }
  await requireCustomFields(
    db,
    written.map(({ customFields }) => customFields),
  );
  await setLeadFields(db, written);
  const updated = await findLeads(
    db,
    written.map(({ id }) => id),
  );
  await emitLeadEvents(db, 'lead.updated', [...updated.values()], currentTime());
  return { changed, skipped };
}

/** The fields of a lead that a state has. */
const fieldsLike = (lead: LeadRow, { contactOwnerEmail, customFields }: LeadBulkState): LeadBulkState => ({
  ...(contactOwnerEmail !== undefined && { contactOwnerEmail: lead.contactOwnerEmail }),
  ...(customFields && {
    customFields: Object.fromEntries(
      Object.keys(customFields).map((name) => [name, lead.customFields[name] ?? null]),
    ),
  }),
});

const fieldsOf = ({ lists: _lists, ...fields }: LeadBulkState): LeadBulkState => fields;

/** Restores what a bulk change has changed, unless somebody has changed it since. */
export async function undoManyLeads(
  db: TenantDb,
  changes: ReadonlyMap<string, Changed<unknown>>,
): Promise<Outcome> {
  const ids = [...changes.keys()];
  await lockLeads(db, ids);
  const { leads, skipped } = await findAll(db, ids, undefined);
  const members = await listsOf(db, leads);
  const kept = leads.flatMap((lead) => {
    const { before, after } = changes.get(lead.id) as Changed<LeadBulkState>;
    const lists = Object.entries(after.lists ?? {});
    const isAsLeft =
      lists.every(([id, isMember]) => members.get(lead.id)?.includes(id) === isMember) &&
      isDeepStrictEqual(fieldsLike(lead, after), fieldsOf(after));
    return isAsLeft ? [{ lead, after: before }] : [];
  });
  const asLeft = new Set(kept.map(({ lead }) => lead));
  for (const { id } of leads.filter((lead) => !asLeft.has(lead)))
    skipped.push({ item: id, reason: 'changed_since' });

  const ofFields = kept.filter(({ after }) => after.lists === undefined);
  const outcomes = ofFields.length > 0 ? [await setFields(db, ofFields)] : [];
  const ofLists = Map.groupBy(
    kept.filter(({ after }) => after.lists !== undefined),
    ({ after }) => JSON.stringify(after.lists),
  );
  for (const group of ofLists.values()) {
    const wanted = Object.entries(group[0]?.after.lists ?? {});
    const listWith = (isMember: boolean) => wanted.find(([, wantsIt]) => wantsIt === isMember)?.[0];
    const back = { add: listWith(true), remove: listWith(false) };
    outcomes.push(
      await changeLists(
        db,
        group.map(({ lead }) => lead),
        back,
      ),
    );
  }
  return {
    changed: outcomes.flatMap(({ changed }) => changed),
    skipped: [...skipped, ...outcomes.flatMap((outcome) => outcome.skipped)],
  };
}
