import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findLead, findLeadsByAddress } from '#db/queries/contacts/leads.ts';
import { optedOutAmong } from '#db/queries/contacts/opt-outs.ts';
import { crmLinkOfLead, deleteCrmLink, setCrmOptOut } from '#db/queries/crm/crm-links.ts';
import { logCrm } from '#db/queries/crm/crm-log.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { type CrmNews, readCrmEvent } from '#domain/crm/news.ts';
import type { NewCrmLogEntry } from '#domain/crm/crm.ts';

const OutboxRow = z.object({ eventId: z.string(), body: z.string().nullable() });

/** The next thing that a CRM is to be told, and of which of its contacts. */
export interface CrmTelling {
  eventId: string;
  /** null: there is nothing to be told, because the contact is not in the CRM, or was erased. */
  told: {
    contactId: string;
    news: CrmNews;
    entry: Pick<NewCrmLogEntry, 'subject' | 'contactId' | 'leadId' | 'messageId'>;
  } | null;
}

/** In the order in which it happened. @returns null if the CRM has been told everything. */
export async function nextCrmTelling(db: TenantDb, connectionId: string): Promise<CrmTelling | null> {
  const row = await db.maybeOne(sql.type(OutboxRow)`
    select o.event_id, e.body from crm_outbox o
    left join events e on e.workspace_id = ${db.workspaceId} and e.id = o.event_id
    where o.workspace_id = ${db.workspaceId} and o.connection_id = ${connectionId}
    order by o.event_id limit 1`);
  if (!row) return null;
  const { eventId, body } = row;
  const event = body === null ? null : readCrmEvent(parseOwnJson(body));
  if (!event) return { eventId, told: null };
  const keys = event.addresses.map((address) => [address, contactKey(address)] as const);
  const leads = await findLeadsByAddress(
    db,
    keys.map(([, key]) => key),
  );
  const [address = null, key = ''] = keys.find(([, one]) => leads.has(one)) ?? [];
  const leadId = event.leadId ?? leads.get(key) ?? null;
  const link = leadId === null ? null : await crmLinkOfLead(db, connectionId, leadId);
  if (!link) return { eventId, told: null };
  const news = event.newsFor(address);
  const isOptOut = news.kind === 'opt_out' || news.kind === 'opt_in';
  if (isOptOut && (await isKnown(db, leadId ?? '', link, news))) return { eventId, told: null };
  const { contactId } = link;
  const { subject, messageId } = event;
  return { eventId, told: { contactId, news, entry: { subject, contactId, leadId, messageId } } };
}

/** Whether the CRM says so already, or another number of the contact says otherwise. */
async function isKnown(
  db: TenantDb,
  leadId: string,
  { textsOptedOut, emailsOptedOut }: { textsOptedOut: boolean; emailsOptedOut: boolean },
  { kind, email }: Extract<CrmNews, { kind: 'opt_out' | 'opt_in' }>,
): Promise<boolean> {
  if ((email === null ? textsOptedOut : emailsOptedOut) === (kind === 'opt_out')) return true;
  if (kind === 'opt_out' || email !== null) return false;
  const lead = await findLead(db, leadId);
  return (await optedOutAmong(db, (lead?.phones ?? []).map(contactKey))).size > 0;
}

/** The CRM was told, or refused it for good. @param refused why; null: it was told. @param toldAt by the clock of the CRM. */
export async function settleCrmTelling(
  db: TenantDb,
  connectionId: string,
  { eventId, told }: CrmTelling,
  { refused, ids, toldAt }: { refused: string | null; ids: Record<string, string>; toldAt: Date },
  now: Date,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from crm_outbox
    where workspace_id = ${db.workspaceId} and connection_id = ${connectionId} and event_id = ${eventId}`);
  if (!told) return;
  const { contactId, news, entry } = told;
  const outcome = refused === null ? 'synced' : 'refused';
  await logCrm(db, connectionId, [{ direction: 'out', ...entry, outcome, reason: refused }], now);
  if (refused === 'contact_not_found') return deleteCrmLink(db, connectionId, contactId);
  if (refused !== null) return;
  if (news.kind === 'opt_out' || news.kind === 'opt_in')
    await setCrmOptOut(db, connectionId, contactId, {
      of: news.email === null ? 'texts' : 'emails',
      isOptedOut: news.kind === 'opt_out',
      toldAt,
    });
  // The events of replies to it, and of its receipts, name them.
  if (news.kind === 'message' && entry.messageId)
    await db.query(sql.type(NoRows)`
      update messages set crm = ${sql.jsonb(ids)} || crm
      where workspace_id = ${db.workspaceId} and id = ${entry.messageId} and not crm @> ${sql.jsonb(ids)}`);
}
