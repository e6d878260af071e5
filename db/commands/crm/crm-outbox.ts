import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findLead, findLeadsByAddress } from '#db/queries/contacts/leads.ts';
import { optedOutAmong } from '#db/queries/contacts/opt-outs.ts';
import type { CrmConnectionRow } from '#db/queries/crm/crm-connections.ts';
import { crmLinkOfLead, deleteCrmLink, setCrmOptOut } from '#db/queries/crm/crm-links.ts';
import { logCrm } from '#db/queries/crm/crm-log.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import type { NewCrmContact } from '#domain/crm/contact.ts';
import { TRIED_EVERY_MS, TRIED_FOR_MS } from '#domain/base/set-aside.ts';
import { CRM_FAILURES_TO_SET_ASIDE, type NewCrmLogEntry } from '#domain/crm/crm.ts';
import { type CrmChange, readCrmEvent } from '#domain/crm/change.ts';

const OutboxRow = z.object({ eventId: z.string(), body: z.string().nullable() });
const FailuresRow = z.object({ failures: z.int() });

/** The next change to push to a CRM, and the contact that it concerns. */
export interface CrmPush {
  eventId: string;
  /** null: there is nothing to push, because the contact is not in the CRM, or was erased. */
  push: {
    /** null: it is to be made there first, unless the change is a status, which names its message. */
    contactId: string | null;
    /** Who the contact is to be. */
    person: NewCrmContact;
    change: CrmChange;
    entry: Pick<NewCrmLogEntry, 'subject' | 'leadId' | 'messageId'>;
  } | null;
}

/** In the order in which it happened, without what is set aside and not to be tried now. @returns null if the CRM has received everything. */
export async function nextCrmPush(
  db: TenantDb,
  {
    id: connectionId,
    provider,
    createContacts,
  }: Pick<CrmConnectionRow, 'id' | 'provider' | 'createContacts'>,
  now: Date,
): Promise<CrmPush | null> {
  const before = (ms: number) => sql.timestamp(new Date(now.getTime() - ms));
  const row = await db.maybeOne(sql.type(OutboxRow)`
    select o.event_id, e.body from crm_outbox o
    left join events e on e.workspace_id = ${db.workspaceId} and e.id = o.event_id
    where o.workspace_id = ${db.workspaceId} and o.connection_id = ${connectionId}
      and (o.failures < ${CRM_FAILURES_TO_SET_ASIDE}
        or o.last_failed_at <= ${before(TRIED_EVERY_MS)} and o.first_failed_at > ${before(TRIED_FOR_MS)})
    order by o.event_id limit 1`);
  if (!row) return null;
  const { eventId, body } = row;
  const event = body === null ? null : readCrmEvent(provider, parseOwnJson(body));
  if (!event) return { eventId, push: null };
  const keys = event.addresses.map((address) => [address, contactKey(address)] as const);
  const leads = await findLeadsByAddress(
    db,
    keys.map(([, key]) => key),
  );
  const [address = null, key = ''] = keys.find(([, one]) => leads.has(one)) ?? [];
  const leadId = event.leadId ?? leads.get(key) ?? null;
  const link = leadId === null ? null : await crmLinkOfLead(db, connectionId, leadId);
  const change = event.changeFor(address);
  const isOptOut = change.kind === 'opt_out' || change.kind === 'opt_in';
  // A status is of a message that is there, also if its contact was not read yet.
  const isStatus = change.kind === 'status';
  const isPushed = link
    ? change.kind !== 'contact' && !(isOptOut && (await isKnown(db, leadId ?? '', link, change)))
    : isStatus || (createContacts && !isOptOut);
  if (!isPushed) return { eventId, push: null };
  const person = await personOf(db, leadId, address ?? event.addresses[0] ?? null);
  if (!link && !person && !isStatus) return { eventId, push: null };
  const contactId = link?.contactId ?? null;
  const { subject, messageId } = event;
  const entry = { subject, leadId, messageId };
  return { eventId, push: { contactId, person: person ?? NOBODY, change, entry } };
}

const NOBODY: NewCrmContact = {
  firstName: '',
  lastName: '',
  companyName: '',
  jobTitle: '',
  emails: [],
  phones: [],
  textsOptedOut: false,
  emailsOptedOut: false,
};

/** Who is to be a contact: a lead, or whoever has an address; null: neither. */
async function personOf(
  db: TenantDb,
  leadId: string | null,
  address: string | null,
): Promise<NewCrmContact | null> {
  const lead = leadId === null ? null : await findLead(db, leadId);
  if (!lead && (address === null || isErased(address))) return null;
  const isEmail = address?.includes('@') ?? false;
  const emails = lead?.emails ?? (isEmail ? [address ?? ''] : []);
  const phones = lead?.phones ?? (isEmail ? [] : [address ?? '']);
  const { firstName, lastName, companyName, jobTitle } = lead ?? NOBODY;
  return {
    firstName,
    lastName,
    companyName,
    jobTitle,
    emails,
    phones,
    textsOptedOut: (await optedOutAmong(db, phones.map(contactKey))).size > 0,
    emailsOptedOut: (await optedOutAmong(db, emails)).size > 0,
  };
}

/** Whether the CRM says so already, or it is not so any more, or another number of the contact says otherwise. */
async function isKnown(
  db: TenantDb,
  leadId: string,
  { textsOptedOut, emailsOptedOut }: { textsOptedOut: boolean; emailsOptedOut: boolean },
  { kind, email }: Extract<CrmChange, { kind: 'opt_out' | 'opt_in' }>,
): Promise<boolean> {
  if ((email === null ? textsOptedOut : emailsOptedOut) === (kind === 'opt_out')) return true;
  const lead = email === null ? await findLead(db, leadId) : null;
  const addresses = email === null ? (lead?.phones ?? []).map(contactKey) : [email];
  const isOptedOut = (await optedOutAmong(db, addresses)).size > 0;
  return isOptedOut !== (kind === 'opt_out');
}

/** The CRM has failed to take it, although it answers otherwise. @returns whether it is set aside. */
export async function recordCrmPushFailure(
  db: TenantDb,
  connectionId: string,
  { eventId, push }: CrmPush,
  reason: string,
  now: Date,
): Promise<boolean> {
  const failures = await db.maybeOneFirst(sql.type(FailuresRow)`
    update crm_outbox set failures = failures + 1, last_failed_at = ${sql.timestamp(now)},
      first_failed_at = coalesce(first_failed_at, ${sql.timestamp(now)})
    where workspace_id = ${db.workspaceId} and connection_id = ${connectionId} and event_id = ${eventId}
    returning failures`);
  if (push && failures === CRM_FAILURES_TO_SET_ASIDE) {
    const { contactId, entry } = push;
    await logCrm(
      db,
      connectionId,
      [{ direction: 'out', ...entry, contactId, outcome: 'set_aside', reason }],
      now,
    );
  }
  return (failures ?? CRM_FAILURES_TO_SET_ASIDE) >= CRM_FAILURES_TO_SET_ASIDE;
}

/** What was set aside is pushed again in its turn. */
export async function retryCrmSetAside(db: TenantDb, connectionId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update crm_outbox set failures = 0, first_failed_at = null, last_failed_at = null
    where workspace_id = ${db.workspaceId} and connection_id = ${connectionId} and failures >= ${CRM_FAILURES_TO_SET_ASIDE}`);
}

/** The CRM has received the change, or has refused it for good. @param outcome.contactId null: there is none. @param outcome.refused why; null: it was received. @param outcome.toldAt by the clock of the CRM. */
export async function settleCrmPush(
  db: TenantDb,
  connectionId: string,
  { eventId, push }: CrmPush,
  {
    contactId,
    refused,
    ids,
    toldAt,
  }: { contactId: string | null; refused: string | null; ids: Record<string, string>; toldAt: Date },
  now: Date,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from crm_outbox
    where workspace_id = ${db.workspaceId} and connection_id = ${connectionId} and event_id = ${eventId}`);
  if (!push) return;
  const { change, entry } = push;
  const outcome = refused === null ? 'synced' : 'refused';
  await logCrm(db, connectionId, [{ direction: 'out', ...entry, contactId, outcome, reason: refused }], now);
  if (contactId === null) return;
  if (refused === 'contact_not_found') return deleteCrmLink(db, connectionId, contactId);
  if (refused !== null) return;
  if (change.kind === 'opt_out' || change.kind === 'opt_in')
    await setCrmOptOut(db, connectionId, contactId, {
      of: change.email === null ? 'texts' : 'emails',
      isOptedOut: change.kind === 'opt_out',
      toldAt,
    });
  // The events of replies to it, and of its receipts, name them.
  if (change.kind === 'message' && entry.messageId)
    await db.query(sql.type(NoRows)`
      update messages set crm = ${sql.jsonb(ids)} || crm
      where workspace_id = ${db.workspaceId} and id = ${entry.messageId} and not crm @> ${sql.jsonb(ids)}`);
}
