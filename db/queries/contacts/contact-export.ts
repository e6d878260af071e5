import { sql } from 'slonik';
import { z } from 'zod';
import { JsonValue } from '#domain/base/json-value.ts';
import { type FileLinks, linkExpiry, linkName, REPLY_LINK_DAYS } from '#domain/messages/attachment.ts';
import { type Contact, writtenForms } from '#domain/contacts/contact.ts';
import type { ContactExport } from '#domain/contacts/contact-export.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { AttemptOutcome, AttemptRow } from '../sending/attempts.ts';
import { eventsOfContact, lastEventId } from '../inbox/contact-events.ts';
import { isMessageOf, isReplyOf, texts } from './contacts.ts';
import { addressesOf, LeadRow, presentLead } from './leads.ts';
import { linksOf } from '../messages/message-links.ts';
import { MessageRow } from '../messages/messages.ts';
import { InboundRow } from '../inbox/replies.ts';
import { showMessages } from '../messages/shown-messages.ts';

/** A page of a list, and where the next one begins; null: this is the last page. */
export interface ExportPage<Item> {
  items: Item[];
  next: string | null;
}

type Items<Name extends keyof ContactExport> = ContactExport[Name] extends (infer Item)[] ? Item[] : never;
type Page<Name extends keyof ContactExport> = ExportPage<Items<Name>[number]>;

const PAGE = 200;
/** A reply may have 100,000 characters, and its whole text more. */
const REPLIES_PAGE = 20;

function pageOf<Item>(rows: readonly { id: string }[], items: Item[], size = PAGE): ExportPage<Item> {
  return { items, next: rows.length < size ? null : (rows.at(-1)?.id ?? null) };
}

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;

const MembershipRow = z.object({ leadId: z.string(), listId: z.string(), name: z.string() });

export async function exportLeads(db: TenantDb, { leadIds }: Contact): Promise<Items<'leads'>> {
  const leads = await db.any(sql.type(LeadRow)`
    select * from leads where workspace_id = ${db.workspaceId} and id = any(${texts(leadIds)}) order by id`);
  const lists = await db.any(sql.type(MembershipRow)`
    select distinct a.lead_id, a.list_id, n.name from list_addresses a
    join lead_lists n on n.workspace_id = a.workspace_id and n.id = a.list_id
    where a.workspace_id = ${db.workspaceId} and a.lead_id = any(${texts(leadIds)})
      and a.address = any(${texts(leads.flatMap(addressesOf))})
    order by a.lead_id, a.list_id`);
  const byLead = Map.groupBy(lists, ({ leadId }) => leadId);
  return leads.map((row) => ({
    ...presentLead(row),
    lists: (byLead.get(row.id) ?? []).map(({ listId, name }) => ({ listId, name })),
  }));
}

const AvailableRow = z.object({ address: z.string(), checkedAt: z.date() });

export async function exportAvailability(
  db: TenantDb,
  { addresses }: Contact,
): Promise<Items<'availability'>> {
  const rows = await db.any(sql.type(AvailableRow)`
    select address, checked_at from available_addresses
    where workspace_id = ${db.workspaceId} and address = any(${texts(addresses)}) order by address`);
  return rows.map(({ address, checkedAt }) => ({ address, checkedAt: checkedAt.toISOString() }));
}

const CampaignLeadRow = z.object({
  campaignId: z.string(),
  name: z.string(),
  leadId: z.string(),
  state: z.string(),
  stopReason: z.string().nullable(),
  enteredAt: z.date(),
  updatedAt: z.date(),
});

export async function exportCampaigns(db: TenantDb, { leadIds }: Contact): Promise<Items<'campaigns'>> {
  const rows = await db.any(sql.type(CampaignLeadRow)`
    select l.campaign_id, c.name, l.lead_id, l.state, l.stop_reason, l.entered_at, l.updated_at
    from campaign_leads l join campaigns c on c.workspace_id = l.workspace_id and c.id = l.campaign_id
    where l.workspace_id = ${db.workspaceId} and l.lead_id = any(${texts(leadIds)})
    order by l.campaign_id, l.lead_id`);
  return rows.map(({ enteredAt, updatedAt, ...row }) => ({
    ...row,
    enteredAt: enteredAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }));
}

const RejectedRow = z.object({
  importId: z.string(),
  rowNumber: z.int(),
  reason: z.string(),
  columns: z.array(z.string()),
  fields: z.array(z.string()),
});

/** Whether a rejected row `r` names the contact, in any format of its addresses. */
export function isRowOf(db: TenantDb, { addresses }: Contact) {
  const { plain, digits } = writtenForms(addresses);
  const text = sql.fragment`array_to_string(r.fields, '|')`;
  return sql.fragment`(r.workspace_id = ${db.workspaceId} and (
    exists (select from unnest(${texts(plain)}) as n (form) where strpos(lower(${text}), n.form) > 0)
    or exists (select from unnest(${texts(digits)}) as n (form)
      where strpos(translate(${text}, ' ()+-./', ''), n.form) > 0)))`;
}

export async function exportRejectedRows(db: TenantDb, contact: Contact): Promise<Items<'rejectedRows'>> {
  const rows = await db.any(sql.type(RejectedRow)`
    select r.import_id, r.row_number, r.reason, i.columns, r.fields
    from rejected_rows r join lead_imports i on i.workspace_id = r.workspace_id and i.id = r.import_id
    where ${isRowOf(db, contact)} order by r.import_id, r.row_number`);
  return rows.map(({ columns, fields, ...row }) => ({
    ...row,
    fields: Object.fromEntries(
      fields.map((field, index) => [columns[index] ?? `column ${index + 1}`, field]),
    ),
  }));
}

const DripRow = z.object({
  id: z.string(),
  createdAt: z.date(),
  draft: z.record(z.string(), JsonValue),
});

/** Whether a buffered drip `b` is to the contact. */
export const isDripOf = (db: TenantDb, { addresses, leadIds }: Contact) => sql.fragment`(
  b.workspace_id = ${db.workspaceId} and (b.draft ->> 'leadId' = any(${texts(leadIds)})
    or array[b.draft ->> 'address', b.draft ->> 'recipientPhone', b.draft ->> 'recipientEmail'] && ${texts(addresses)}))`;

export async function exportDrips(db: TenantDb, contact: Contact, after: string): Promise<Page<'drips'>> {
  const rows = await db.any(sql.type(DripRow)`
    select b.id, b.created_at, b.draft from drip_buffer b
    where ${isDripOf(db, contact)} and b.id > ${after} order by b.id limit ${PAGE}`);
  return pageOf(
    rows,
    rows.map(({ id, createdAt, draft }) => ({ messageId: id, acceptedAt: createdAt.toISOString(), draft })),
  );
}

const ExportedAttemptRow = AttemptRow.extend({
  finishedAt: z.date().nullable(),
  outcome: AttemptOutcome.nullable(),
  reason: z.string().nullable(),
});

export async function exportMessages(
  db: TenantDb,
  contact: Contact,
  after: string,
  now: Date,
): Promise<Page<'messages'>> {
  const rows = await db.any(sql.type(MessageRow)`
    select m.* from messages m where ${isMessageOf(db, contact)} and m.id > ${after} order by m.id limit ${PAGE}`);
  const attempts = await db.any(sql.type(ExportedAttemptRow)`
    select * from attempts where workspace_id = ${db.workspaceId}
      and message_id = any(${texts(rows.map(({ id }) => id))})
    order by id`);
  const byMessage = Map.groupBy(attempts, ({ messageId }) => messageId);
  const links = Map.groupBy(
    await linksOf(
      db,
      rows.map(({ id }) => id),
    ),
    ({ messageId }) => messageId,
  );
  const shown = await showMessages(db, rows, now);
  return pageOf(
    rows,
    shown.map((message, index) => ({
      ...message,
      smsFallbackMessage: rows[index]?.smsFallbackMessage ?? null,
      attempts: (byMessage.get(message._id) ?? []).map((attempt) => ({
        attemptId: attempt.id,
        kind: attempt.kind,
        channel: attempt.channel,
        carrier: attempt.carrier,
        address: attempt.address,
        startedAt: attempt.startedAt.toISOString(),
        finishedAt: iso(attempt.finishedAt),
        outcome: attempt.outcome,
        reason: attempt.reason,
      })),
      links: (links.get(message._id) ?? []).map(({ url, clickedAt, clicks }) => ({
        url,
        clickedAt: iso(clickedAt),
        clicks,
      })),
    })),
  );
}

const FileRow = z.object({
  id: z.string(),
  inboundMessageId: z.string(),
  name: z.string(),
  contentType: z.string().nullable(),
  size: z.int().nullable(),
  status: z.string(),
  createdAt: z.date(),
});

const ExportedReplyRow = InboundRow.extend({
  wholeText: z.string().nullable(),
  transcript: z.string().nullable(),
  formerTexts: z.array(z.object({ text: z.string(), until: z.string() })),
});

export async function exportReplies(
  db: TenantDb,
  contact: Contact,
  after: string,
  links: FileLinks,
  now: Date,
): Promise<Page<'replies'>> {
  const rows = await db.any(sql.type(ExportedReplyRow)`
    select i.* from inbound_messages i where ${isReplyOf(db, contact)} and i.id > ${after} order by i.id limit ${REPLIES_PAGE}`);
  const files = await db.any(sql.type(FileRow)`
    select id, inbound_message_id, name, content_type, size, status, created_at from attachments
    where workspace_id = ${db.workspaceId} and inbound_message_id = any(${texts(rows.map(({ id }) => id))})
    order by told_at, position, id`);
  const byReply = Map.groupBy(files, ({ inboundMessageId }) => inboundMessageId);
  const linkTo = ({ id, name, createdAt, status }: z.infer<typeof FileRow>): string | null =>
    status === 'stored'
      ? links.sign(
          { workspaceId: db.workspaceId, attachmentId: id, name: linkName(name) },
          linkExpiry(createdAt, now, REPLY_LINK_DAYS),
        )
      : null;
  return pageOf(
    rows,
    rows.map((row) => ({
      messageId: row.id,
      lineId: row.lineId,
      address: row.address,
      leadId: row.leadId,
      campaignId: row.campaignId,
      originalMessageId: row.originalMessageId,
      subject: row.subject,
      senderName: row.senderName,
      message: row.body,
      wholeMessage: row.wholeText ?? row.body,
      transcript: row.transcript,
      formerTexts: row.formerTexts,
      warning: row.warning,
      authentication: row.authentication,
      autoReply: row.autoReply,
      keyword: row.keyword,
      receivedAt: row.receivedAt.toISOString(),
      attachments: (byReply.get(row.id) ?? []).map((file) => ({
        name: file.name,
        contentType: file.contentType,
        size: file.size,
        url: linkTo(file),
      })),
    })),
    REPLIES_PAGE,
  );
}

const DeliveryRow = z.object({
  id: z.string(),
  eventId: z.string(),
  webhookId: z.string(),
  success: z.boolean().nullable(),
  responseStatus: z.int().nullable(),
  error: z.string().nullable(),
  attemptCount: z.int(),
  createdAt: z.date(),
});

/** The contact's events among the next events of the workspace; a page may be empty although more follow. */
export async function exportEvents(db: TenantDb, contact: Contact, after: string): Promise<Page<'events'>> {
  const last = await lastEventId(db, after);
  if (last === null) return { items: [], next: null };
  const events = await eventsOfContact(db, contact, { after, last });
  const deliveries = await db.any(sql.type(DeliveryRow)`
    select d.id, d.event_id, d.webhook_id, d.success, d.response_status, d.error, d.attempt_count, d.created_at
    from ${sql.unnest(
      events.map(({ id }) => [id]),
      ['text'],
    )} as e (id)
    join webhook_deliveries d on d.workspace_id = ${db.workspaceId} and d.event_id = e.id
      and d.id between left(e.id, 12) || repeat('0', 12) and left(e.id, 12) || repeat('f', 12)
    order by d.id`);
  const byEvent = Map.groupBy(deliveries, ({ eventId }) => eventId);
  return {
    next: last,
    items: events.map(({ id, event, createdAt, body }) => ({
      eventId: id,
      event,
      createdAt: createdAt.toISOString(),
      body: parseOwnJson(body) as Items<'events'>[number]['body'],
      deliveries: (byEvent.get(id) ?? []).map((delivery) => ({
        deliveryId: delivery.id,
        webhookId: delivery.webhookId,
        success: delivery.success,
        responseStatus: delivery.responseStatus,
        error: delivery.error,
        attemptCount: delivery.attemptCount,
        createdAt: delivery.createdAt.toISOString(),
      })),
    })),
  };
}
