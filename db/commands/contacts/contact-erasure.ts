import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { contactErasureId } from '#workflows/protocol/workflow-ids.ts';
import { stopLeads } from '#db/commands/campaigns/campaign-stops.ts';
import { eraseChats } from '#db/commands/drafts/chat-messages.ts';
import { wakeDraft } from '#db/commands/drafts/ai-drafts.ts';
import { isDripOf } from '#db/queries/contacts/contact-export.ts';
import { findContact, isMessageOf, texts } from '#db/queries/contacts/contacts.ts';
import { asRows, type ErasedAddress, insertErasure, pseudonymize } from '#db/queries/contacts/erasures.ts';
import { addressesOf, deleteLeadFromLists, lockLeads, lockListsOf } from '#db/queries/contacts/leads.ts';
import { eraseConsents } from '#db/queries/contacts/consents.ts';
import { deleteNotesOf } from '#db/queries/inbox/conversation-notes.ts';
import { forgetParticipant } from '#db/queries/inbox/groups.ts';
import { deleteBulkChangesOf } from '#db/queries/base/bulk-changes.ts';
import { deleteReadsOf } from '#db/queries/inbox/conversation-reads.ts';
import { deleteSavedFiltersNaming } from '#db/queries/inbox/saved-filters.ts';
import { deleteSuspicionsOf } from '#db/queries/contacts/opt-out-suspicions.ts';
import { deleteVerificationsOf } from '#db/queries/contacts/verifications.ts';
import { linesThatKnow, lockLinesShared } from '#db/queries/lines/lines.ts';
import { IS_TO_BE_SENT } from '#db/queries/messages/messages.ts';
import { forgetCrmContacts } from '#db/queries/crm/crm-links.ts';
import { hideOptOuts } from '#db/queries/contacts/opt-outs.ts';
import { insertion } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import type { Contact } from '#domain/contacts/contact.ts';
import { newId } from '#domain/base/ids.ts';
import { DRIP_SOURCE } from '#domain/messages/accepted-message.ts';
import { POSITIVE_TAGS } from '#domain/shared/positive-tags.ts';
import { formsOf } from '#domain/base/contact-key.ts';

/**
 * Begins to erase the contact of a lead. This transaction ends the contact: its leads are deleted, no waiting message is sent any
 * more, and a message from one of its addresses creates a new contact. The workflow erases the rest.
 */
export async function eraseContact(db: TenantDb, leadId: string): Promise<void> {
  const found = await findContact(db, leadId);
  const leads = await lockLeads(db, found.leadIds);
  // A lead may have got another address before it was locked.
  const addresses = new Set([...found.addresses, ...leads.flatMap(addressesOf).flatMap(formsOf)]);
  const contact = { ...found, addresses: [...addresses] };
  const erased = await pseudonymize(db, contact.addresses);
  await cancelDrips(db, contact, erased);
  await lockListsOf(db, ...leads);
  await lockAll(db, contact);
  // Later than everything about the contact, because all of it is locked.
  const now = currentTime();
  const id = newId(now);
  await insertErasure(db, { id, leadIds: contact.leadIds, erased });
  await eraseChats(db, contact.addresses, now);
  await forgetCrmContacts(db, contact.leadIds);
  await supersedeDrafts(db, contact, now);
  await stopLeads(db, contact.leadIds, now);
  await cancelMessages(db, contact);
  for (const lead of leads) await deleteLeadFromLists(db, lead);
  await hideOptOuts(db, erased);
  await eraseConsents(db, erased);
  await deleteSuspicionsOf(db, contact.addresses);
  await deleteVerificationsOf(db, contact.addresses);
  await deleteNotesOf(db, contact.addresses);
  await deleteReadsOf(db, contact.addresses);
  await forgetParticipant(db, contact.addresses);
  await deleteBulkChangesOf(db, [...contact.leadIds, ...contact.addresses]);
  await deleteSavedFiltersNaming(db, contact.addresses);
  await endConversations(db, contact, erased);
  wake(db, contactErasureId(id), now, 'requested');
}

const CanceledDrip = z.object({
  id: z.string(),
  channel: z.string(),
  leadId: z.string().nullable(),
  scheduledAt: z.string(),
  createdByUserId: z.string().nullable(),
  createdAt: z.string(),
  address: z.string(),
});

/** Buffered drips become canceled messages, so that callers who were told that they are queued can look them up. */
async function cancelDrips(db: TenantDb, contact: Contact, erased: readonly ErasedAddress[]): Promise<void> {
  const canceled = await db.any(sql.type(CanceledDrip)`
    with locked as materialized (
      select b.id from drip_buffer b where ${isDripOf(db, contact)} order by b.arrival for update
    ), taken as (
      delete from drip_buffer b using locked where b.workspace_id = ${db.workspaceId} and b.id = locked.id
      returning b.id, b.draft, b.created_at
    ), unclaimed as (
      delete from drip_claims c using taken t
      where c.workspace_id = ${db.workspaceId} and c.message_id = decode(t.id, 'hex')
    )
    select t.id, t.draft ->> 'channel' channel, t.draft ->> 'leadId' lead_id, t.draft ->> 'scheduledAt' scheduled_at,
      t.draft ->> 'createdByUserId' created_by_user_id, t.created_at::text,
      coalesce(a.pseudonym, 'erased:' || t.id) address
    from taken t left join ${asRows(erased)} on a.address = t.draft ->> 'address'`);
  if (canceled.length === 0) return;
  const rows = canceled.map((drip) => ({
    ...drip,
    workspaceId: db.workspaceId,
    status: 'canceled',
    holdReason: 'lead_deleted',
    source: DRIP_SOURCE,
  }));
  await db.query(sql.type(NoRows)`${insertion('messages', rows)}`);
}

/** Locks everything that is changed here, in the order of docs/architecture.md. */
async function lockAll(db: TenantDb, contact: Contact): Promise<void> {
  // A line that moves takes its contacts along.
  await lockLinesShared(db, await linesThatKnow(db, contact.addresses));
  await db.query(sql.type(NoRows)`
    select from conversations
    where workspace_id = ${db.workspaceId} and address = any(${texts(contact.addresses)})
    order by address for no key update`);
  await db.query(sql.type(NoRows)`
    select from campaign_leads
    where workspace_id = ${db.workspaceId} and lead_id = any(${texts(contact.leadIds)}) and state = 'running'
    order by campaign_id, lead_id for no key update`);
  await db.query(sql.type(NoRows)`
    select from messages m where ${isMessageOf(db, contact)} and ${IS_TO_BE_SENT}
    order by m.id for no key update`);
}

async function cancelMessages(db: TenantDb, contact: Contact): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages m set status = 'canceled', hold_reason = 'lead_deleted', held = false, updated_at = now()
    where ${isMessageOf(db, contact)} and m.status in ('pending', 'scheduled')`);
  // A message that is being sent is settled when its attempt ends.
  await db.query(sql.type(NoRows)`
    update messages m set fallback_sms = 'failed', hold_reason = null, updated_at = now()
    where ${isMessageOf(db, contact)} and m.fallback_sms = 'due' and not exists (
      select from attempts t where t.workspace_id = ${db.workspaceId} and t.message_id = m.id and t.outcome is null)`);
}

const ReplyIdRow = z.object({ replyId: z.string() });

async function supersedeDrafts(db: TenantDb, { addresses }: Contact, now: Date): Promise<void> {
  const superseded = await db.anyFirst(sql.type(ReplyIdRow)`
    update ai_drafts set status = 'superseded', resolved_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and address = any(${texts(addresses)}) and status in ('waiting', 'drafted')
    returning reply_id`);
  for (const replyId of superseded) wakeDraft(db, replyId, now, 'superseded');
}

/** A later message from the address creates a new contact. The tags that analytics count are kept. */
async function endConversations(
  db: TenantDb,
  { addresses }: Contact,
  erased: readonly ErasedAddress[],
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update conversations c set address = a.pseudonym, assignee_id = null, tags = array(
      select lower(tag) from unnest(c.tags) tag where lower(tag) = any(${texts([...POSITIVE_TAGS])}))
    from ${asRows(erased)} where c.workspace_id = ${db.workspaceId} and c.address = a.address`);
  await db.query(sql.type(NoRows)`
    delete from line_contacts where workspace_id = ${db.workspaceId} and address = any(${texts(addresses)})`);
  await db.query(sql.type(NoRows)`
    delete from available_addresses where workspace_id = ${db.workspaceId} and address = any(${texts(addresses)})`);
  await db.query(sql.type(NoRows)`
    delete from notifications
    where workspace_id = ${db.workspaceId} and kind = 'reply' and subject = any(${texts(addresses)})`);
}
