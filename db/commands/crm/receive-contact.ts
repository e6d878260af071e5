import { addLead } from '#db/commands/campaigns/added-lead.ts';
import { followAddresses } from '#db/commands/campaigns/campaign-steps.ts';
import { emitLeadEvents, emitLeadsCreated } from '#db/commands/contacts/lead-events.ts';
import { type Author, optOut } from '#db/commands/contacts/opt-outs.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { contactOwners } from '#db/queries/accounts/workspace-users.ts';
import { lockCampaign } from '#db/queries/campaigns/campaigns.ts';
import {
  findLead,
  findLeadsByAddress,
  insertLeads,
  type LeadRow,
  lockLead,
  updateLead,
} from '#db/queries/contacts/leads.ts';
import { lockListOrQuickSends } from '#db/queries/contacts/lists.ts';
import { optedInSince } from '#db/queries/contacts/consents.ts';
import { optedOutAmong } from '#db/queries/contacts/opt-outs.ts';
import type { CrmConnectionRow } from '#db/queries/crm/crm-connections.ts';
import { type CrmLinkRow, findCrmLink, isOlderThanPush, saveCrmLink } from '#db/queries/crm/crm-links.ts';
import { logCrm } from '#db/queries/crm/crm-log.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { LeadInput, type NormalizedLead, normalizeLead, type PhoneDefaults } from '#domain/contacts/lead.ts';
import { type CrmContact, leadOfContact, mergeContact, sharedFields } from '#domain/crm/contact.ts';
import type { NewCrmLogEntry } from '#domain/crm/crm.ts';

/** A contact of a connected CRM, in the form of a lead; null: it cannot be one. */
function readContact(
  contact: CrmContact,
  phones: PhoneDefaults,
): { lead: NormalizedLead } | { refused: string } {
  const input = LeadInput.safeParse(leadOfContact(contact));
  if (!input.success)
    return { refused: `invalid_${input.error.issues[0]?.path[0]?.toString() ?? 'contact'}` };
  const { lead } = normalizeLead(input.data, phones);
  // One address that is none does not keep the others away.
  if (lead.emails.length + lead.phones.length > 0) return { lead };
  return { refused: contact.emails.length + contact.phones.length > 0 ? 'invalid_address' : 'no_address' };
}

/**
 * Opts out here who opted out in the CRM. An opt-in there changes nothing: only the contact's own wish does, and it is shown as a conflict.
 * In a transaction before that of `receiveContact`, which takes other locks.
 */
export async function receiveOptOuts(
  db: TenantDb,
  connection: Pick<CrmConnectionRow, 'id' | 'provider'>,
  contact: CrmContact,
  phones: PhoneDefaults,
  now: Date,
): Promise<void> {
  const read = readContact(contact, phones);
  const link = await findCrmLink(db, connection.id, contact.id);
  if ('refused' in read || link?.state === 'forgotten') return;
  const lead = link?.leadId ? await findLead(db, link.leadId) : null;
  const log: NewCrmLogEntry[] = [];
  const entry = { direction: 'in', contactId: contact.id, leadId: link?.leadId ?? null } as const;
  for (const [isOut, wasOut, theirs, ours, seen] of [
    [
      contact.textsOptedOut,
      link?.textsOptedOut,
      read.lead.phones.map(contactKey),
      (lead?.phones ?? []).map(contactKey),
      (link?.seen?.phones ?? []).map(contactKey),
    ],
    [
      contact.emailsOptedOut,
      link?.emailsOptedOut,
      read.lead.emails,
      lead?.emails ?? [],
      link?.seen?.emails ?? [],
    ],
  ] as const) {
    const addresses = [...theirs, ...ours];
    const optedOut = await optedOutAmong(db, addresses);
    if (!isOut) {
      if (wasOut && optedOut.size > 0 && !isOlderThanPush(link, contact.modifiedAt))
        log.push({ ...entry, subject: 'opt_in', outcome: 'conflict', reason: 'opt_out_kept' });
      continue;
    }
    const author: Author = {
      actor: { type: 'system', id: connection.id, name: connection.provider },
      channel: 'system',
    };
    // What it said before, or before the contact opted in here, the contact has taken back.
    const said = wasOut ? theirs.filter((address) => !seen.includes(address)) : addresses;
    const optedIn = await optedInSince(db, said, contact.modifiedAt);
    const others = [...new Set(said)]
      .filter((address) => !optedOut.has(address) && !optedIn.has(address))
      .toSorted();
    for (const address of others) await optOut(db, address, { source: 'api', at: now, now, author });
    if (others.length > 0) log.push({ ...entry, subject: 'opt_out', outcome: 'synced' });
  }
  await logCrm(db, connection.id, log, now);
}

/** Makes a contact of a CRM a lead, or brings the lead that it is up to date. @param direction `out`: it was just made there. */
export async function receiveContact(
  db: TenantDb,
  connection: CrmConnectionRow,
  contact: CrmContact,
  phones: PhoneDefaults,
  now: Date,
  direction: NewCrmLogEntry['direction'] = 'in',
): Promise<void> {
  const campaign = connection.campaignId === null ? null : await lockCampaign(db, connection.campaignId);
  const link = await findCrmLink(db, connection.id, contact.id);
  if (link?.state === 'forgotten') return;
  const entry = { direction, subject: 'contact', contactId: contact.id } as const;
  const log = (entries: NewCrmLogEntry[]): Promise<void> => logCrm(db, connection.id, entries, now);
  const read = readContact(contact, phones);
  if ('refused' in read) {
    await saveCrmLink(db, connection.id, contact, { state: 'refused' });
    return log([{ ...entry, outcome: 'refused', reason: read.refused }]);
  }
  const theirs = { ...read.lead, contactOwnerEmail: await memberOf(db, contact.ownerEmail) };
  const known = await leadOf(db, link, read.lead);
  if (known === 'deleted') {
    await saveCrmLink(db, connection.id, contact, {
      state: 'linked',
      leadId: link?.leadId ?? '',
      seen: sharedFields(theirs),
    });
    return log([{ ...entry, leadId: link?.leadId ?? null, outcome: 'refused', reason: 'lead_deleted' }]);
  }
  if (!known) {
    const target = await lockListOrQuickSends(db, connection.listId);
    const contactOwnerEmail = theirs.contactOwnerEmail ?? (await contactOwners(db, []))(null);
    const lead = { ...read.lead, contactOwnerEmail };
    const [saved] = await insertLeads(db, target, [lead], { source: connection.provider, now });
    if (!saved) throw new Error('the lead was not saved');
    await saveCrmLink(db, connection.id, contact, {
      state: 'linked',
      leadId: saved.id,
      seen: sharedFields(theirs),
    });
    if (saved.isNew) await emitLeadsCreated(db, [saved.id], now);
    const row = campaign && campaign.status !== 'archived' ? await findLead(db, saved.id) : null;
    if (campaign && row) await addLead(db, campaign, row, now);
    return log([{ ...entry, leadId: saved.id, outcome: 'synced' }]);
  }
  const { fields, conflicts } = mergeContact(
    link?.leadId === known.id ? link.seen : null,
    { fields: sharedFields(known), changedAt: known.updatedAt },
    { fields: sharedFields(theirs), changedAt: contact.modifiedAt },
  );
  await saveCrmLink(db, connection.id, contact, {
    state: 'linked',
    leadId: known.id,
    seen: sharedFields(theirs),
  });
  const differs = JSON.stringify(fields) !== JSON.stringify(sharedFields(known));
  const merged = { ...known, ...fields, emails: [...fields.emails], phones: [...fields.phones] };
  const changed = differs ? await updateLead(db, known, merged) : undefined;
  if (changed === null)
    return log([{ ...entry, leadId: known.id, outcome: 'refused', reason: 'address_of_another_lead' }]);
  if (changed) {
    await followAddresses(db, known, changed, now);
    await emitLeadEvents(db, 'lead.updated', [changed], now);
  }
  const isNew = link?.leadId !== known.id;
  return log([
    ...(changed || isNew ? [{ ...entry, leadId: known.id, outcome: 'synced' as const }] : []),
    ...conflicts.map(({ field, kept }) => ({
      ...entry,
      leadId: known.id,
      outcome: 'conflict' as const,
      reason: `${field}_kept_${kept}`,
    })),
  ]);
}

/** The member of the workspace who owns a contact; null: nobody of it does. */
async function memberOf(db: TenantDb, email: string | null): Promise<string | null> {
  if (email === null) return null;
  const owner = (await contactOwners(db, [email]))(email);
  return owner?.toLowerCase() === email.trim().toLowerCase() ? owner : null;
}

/** The lead that a contact is, locked; null: none yet. */
async function leadOf(
  db: TenantDb,
  link: CrmLinkRow | null,
  lead: NormalizedLead,
): Promise<LeadRow | 'deleted' | null> {
  if (link?.state === 'linked') return (link.leadId && (await lockLead(db, link.leadId))) || 'deleted';
  const found = await findLeadsByAddress(db, [...lead.phones.map(contactKey), ...lead.emails]);
  const [id] = found.values();
  return id === undefined ? null : lockLead(db, id);
}
