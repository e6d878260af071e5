import { AddressRow, NoRows } from '#db/connection/rows.ts';
import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { inboxHref } from '#domain/analytics/analytics-conversation.ts';
import { fromNow } from '#domain/base/clock.ts';
import { ANSWER_MS, type Conversation, ConversationStatus, statusAt } from '#domain/inbox/conversation.ts';
import { SHOWN_LENGTH, shownReply } from '#domain/inbox/reply.ts';
import { groupName } from '#domain/inbox/group.ts';
import { findGroups, presentGroup } from './groups.ts';
import { type Reader, unreadMessages } from './conversation-reads.ts';
import { findLeads, findLeadsByAddress, type LeadRow } from '../contacts/leads.ts';
import { senderAddress } from '../contacts/contact-address.ts';
import { isOptedOut, optedOutAmong } from '../contacts/opt-outs.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { DISPATCHED_AT, IS_DISPATCHED } from '../messages/messages.ts';
import { contactKey, dialled } from '#domain/base/contact-key.ts';
import { contactName, shownText } from './replies.ts';

const ConversationRow = z.object({
  address: z.string(),
  /** The contact's number as the workspace last wrote to it, otherwise as the contact wrote from it. */
  phone: z.string().nullable(),
  lineId: z.string().nullable(),
  tags: z.array(z.string()),
  lastInboundAt: z.date().nullable(),
  lastOutboundAt: z.date().nullable(),
  lastDirection: z.enum(['in', 'out']).nullable(),
  lastAt: z.date().nullable(),
  lastBody: z.string().nullable(),
  lastSentText: z.string().nullable(),
  lastUnsentAt: z.date().nullable(),
  leadId: z.string().nullable(),
  recipientName: z.string().nullable(),
  status: ConversationStatus,
  snoozedUntil: z.date().nullable(),
  assigneeId: z.string().nullable(),
  /** The sort key of the list; automatic replies do not count. */
  activeAt: z.date().nullable(),
});
export type ConversationRow = z.infer<typeof ConversationRow>;

/**
 * The conversation `c` with an address, to be joined to the rows that have it. Each is looked up by itself (`offset 0`): together,
 * PostgreSQL would rather read up to 200,000 conversations than look up 500.
 */
export const conversationWith = (db: TenantDb, address: FragmentSqlToken) => sql.fragment`
  lateral (
    select line_id, last_inbound_at from conversations
    where workspace_id = ${db.workspaceId} and address = ${address} offset 0
  ) c`;

/** A lateral join, `heard`: the line that the contact last wrote to after `since`. Automatic replies do not count. */
export const lineWrittenTo = (
  db: TenantDb,
  address: FragmentSqlToken,
  since: FragmentSqlToken,
) => sql.fragment`
  lateral (
    select line_id from inbound_messages
    where workspace_id = ${db.workspaceId} and address = ${address} and received_at > ${since} and not auto_reply
    order by received_at desc, id desc limit 1
  ) heard`;

/** The last message was received. */
const HEARD_LAST = sql.fragment`heard.at > coalesce(sent.at, '-infinity')`;

/** With the last message. Scheduled messages do not count. */
const conversations = (db: TenantDb) => sql.fragment`
  select c.address, coalesce(sent.recipient_phone, heard.sender_phone) phone, c.line_id, c.tags, c.last_inbound_at, c.last_outbound_at, greatest(sent.at, heard.at) last_at,
    case when ${HEARD_LAST} then 'in' when sent.at is not null then 'out' end last_direction,
    case when ${HEARD_LAST} then heard.body else sent.body end last_body,
    case when ${HEARD_LAST} then null else sent.sent_text end last_sent_text,
    case when ${HEARD_LAST} then heard.unsent_at else sent.unsent_at end last_unsent_at, sent.lead_id,
    coalesce(sent.recipient_name, heard.sender_name) recipient_name, c.status, c.snoozed_until, c.assignee_id, greatest(c.last_inbound_at, c.last_outbound_at) active_at
  from conversations c
  left join lateral (
    select lead_id, recipient_name, recipient_phone, body, sent_text, unsent_at, ${DISPATCHED_AT} "at" from messages m
    where m.workspace_id = ${db.workspaceId} and m.address = c.address
      and ${IS_DISPATCHED}
    order by ${DISPATCHED_AT} desc, id desc limit 1
  ) sent on true
  left join lateral (
    select left(body, ${SHOWN_LENGTH}) body, sender_name, sender_phone, unsent_at, received_at "at" from inbound_messages i
    where i.workspace_id = ${db.workspaceId} and i.address = c.address
    order by received_at desc, id desc limit 1
  ) heard on true`;

const STARTED = sql.fragment`(c.last_inbound_at is not null or c.last_outbound_at is not null)`;
/** The rest of an erased contact is still counted, but useless to a user who answers. */
const NOT_ERASED = sql.fragment`not starts_with(c.address, 'erased:')`;
/** The sort key of conversations `c`. */
export const ACTIVE_AT = sql.fragment`greatest(c.last_inbound_at, c.last_outbound_at)`;

/** Whether the inbox lists a conversation `c`. */
export const isListed = (db: TenantDb) =>
  sql.fragment`c.workspace_id = ${db.workspaceId} and ${STARTED} and ${NOT_ERASED}`;

/** Most recent activity first, starting after the position `after`. */
export async function listConversations(
  db: TenantDb,
  conditions: readonly FragmentSqlToken[],
  { limit, after }: { limit: number; after: { at: Date; key: string } | null },
): Promise<ConversationRow[]> {
  const rows = await db.any(sql.type(ConversationRow)`${conversations(db)}
    where ${sql.and([
      isListed(db),
      ...conditions,
      after && sql.fragment`(${ACTIVE_AT}, c.address) < (${sql.timestamp(after.at)}, ${after.key})`,
    ])}
    order by ${ACTIVE_AT} desc, c.address desc limit ${limit}`);
  return [...rows];
}

/** Whether `c` is more than a lock: it may have only scheduled messages or automatic replies, which the inbox does not list. */
export const isConversation = (db: TenantDb): FragmentSqlToken => {
  const ofContact = sql.fragment`workspace_id = ${db.workspaceId} and address = c.address`;
  return sql.fragment`c.workspace_id = ${db.workspaceId}
    and (${STARTED} or exists (select from messages where ${ofContact})
      or exists (select from inbound_messages where ${ofContact}))`;
};

export async function findConversation(db: TenantDb, address: string): Promise<ConversationRow | null> {
  return db.maybeOne(
    sql.type(ConversationRow)`${conversations(db)} where ${isConversation(db)} and c.address = ${address}`,
  );
}

/** Like `listConversations`, only the addresses. */
export async function listAddresses(
  db: TenantDb,
  conditions: readonly FragmentSqlToken[],
  limit: number,
): Promise<readonly string[]> {
  return db.anyFirst(sql.type(AddressRow)`
    select c.address from conversations c where ${sql.and([isListed(db), ...conditions])}
    order by ${ACTIVE_AT} desc, c.address desc limit ${limit}`);
}

export async function findConversations(
  db: TenantDb,
  addresses: readonly string[],
): Promise<readonly ConversationRow[]> {
  return db.any(sql.type(ConversationRow)`
    ${conversations(db)} where c.workspace_id = ${db.workspaceId} and c.address = any(${sql.array([...addresses], 'text')})
    order by c.address`);
}

export async function setTags(db: TenantDb, address: string, tags: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    update conversations set tags = ${sql.array([...tags], 'text')}
    where workspace_id = ${db.workspaceId} and address = ${address}`);
}

export async function presentConversations(
  db: TenantDb,
  rows: readonly ConversationRow[],
  reader: Reader,
): Promise<Conversation[]> {
  const leads = await leadsOf(db, rows);
  const optedOut = await optedOutAmong(
    db,
    rows.map(({ address }) => address),
  );
  const unread = await unreadMessages(
    db,
    rows.map(({ address }) => address),
    reader,
  );
  const groups = await findGroups(
    db,
    rows.map(({ address }) => address),
  );
  return rows.map((row) => {
    const status = statusAt(row, reader.now);
    const group = groups.get(row.address);
    const lead = leads.get(row.address) ?? null;
    const isEmail = row.address.includes('@');
    const phone = isEmail || group ? null : dialled(row.address, row.phone);
    const body = row.lastBody ?? '';
    return {
      address: row.address,
      phone,
      email: isEmail ? row.address : null,
      leadId: lead?.id ?? null,
      name: group ? groupName(group) : contactName(lead, row.recipientName, phone ?? row.address),
      group: group ? presentGroup(group) : null,
      lineId: row.lineId,
      tags: row.tags,
      optedOut: optedOut.has(row.address),
      lastMessage:
        row.lastUnsentAt !== null
          ? ''
          : row.lastDirection === 'out'
            ? shownText({ body, sentText: row.lastSentText })
            : shownReply(body),
      lastDirection: row.lastDirection,
      lastAt: row.lastAt?.toISOString() ?? null,
      lastUnsentAt: row.lastUnsentAt?.toISOString() ?? null,
      lastInboundAt: row.lastInboundAt?.toISOString() ?? null,
      lastOutboundAt: row.lastOutboundAt?.toISOString() ?? null,
      inboxHref: inboxHref(row.address),
      status,
      snoozedUntil: status === 'snoozed' ? (row.snoozedUntil?.toISOString() ?? null) : null,
      assigneeId: row.assigneeId,
      unread: unread.has(row.address),
      unreadCount: unread.get(row.address) ?? 0,
    };
  });
}

/** The names by which leads are known at the addresses of messages. */
export async function namesAt(
  db: TenantDb,
  rows: readonly Pick<ConversationRow, 'address' | 'leadId'>[],
): Promise<ReadonlyMap<string, string>> {
  const leads = await leadsOf(db, rows);
  return new Map([...leads].map(([address, lead]) => [address, contactName(lead, null, '')]));
}

/** By address: the lead of the last message, or if that has none or was deleted, a lead that has the address. */
async function leadsOf(
  db: TenantDb,
  rows: readonly Pick<ConversationRow, 'address' | 'leadId'>[],
): Promise<ReadonlyMap<string, LeadRow>> {
  const leads = await findLeads(
    db,
    rows.flatMap(({ leadId }) => leadId ?? []),
  );
  const known = await findLeadsByAddress(
    db,
    rows.filter(({ leadId }) => !leads.has(leadId ?? '')).map(({ address }) => address),
  );
  for (const [id, lead] of await findLeads(db, [...known.values()])) leads.set(id, lead);
  return new Map(
    rows.flatMap(({ address, leadId }) => {
      const lead = leads.get(known.get(address) ?? leadId ?? '');
      return lead ? [[address, lead] as const] : [];
    }),
  );
}

/** The address of the conversation with whom a carrier names; null: there is none, or they have opted out. */
export async function findReachableContact(db: TenantDb, from: string): Promise<string | null> {
  const address = contactKey(await senderAddress(db, from));
  const isKnown = await db.exists(sql.type(NoRows)`
    select 1 from conversations where workspace_id = ${db.workspaceId} and address = ${address}`);
  return isKnown && !(await isOptedOut(db, address)) ? address : null;
}

const ContactLineRow = z.object({ address: z.string(), lineId: z.string() });
const LastInboundRow = ContactLineRow.extend({ id: z.string(), senderPhone: z.string().nullable() });

/** The last inbound message from any of these addresses; null if there is none. */
export async function lastInbound(
  db: TenantDb,
  addresses: readonly string[],
): Promise<z.infer<typeof LastInboundRow> | null> {
  return db.maybeOne(sql.type(LastInboundRow)`
    select id, address, sender_phone, line_id from inbound_messages
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')}) and not auto_reply
    order by received_at desc, id desc limit 1`);
}

/** By address: the line that the contact last wrote to, if they wrote within `ANSWER_MS`. */
export async function linesWrittenTo(
  db: TenantDb,
  addresses: readonly string[],
): Promise<Map<string, string>> {
  if (addresses.length === 0) return new Map();
  const since = sql.fragment`${sql.timestamp(fromNow(-ANSWER_MS))}`;
  const rows = await db.any(sql.type(ContactLineRow)`
    select a.address, heard.line_id
    from unnest(${sql.array([...addresses], 'text')}) as a (address)
    cross join ${conversationWith(db, sql.fragment`a.address`)}
    cross join ${lineWrittenTo(db, sql.fragment`a.address`, since)}
    where c.last_inbound_at > ${since}`);
  return new Map(rows.map(({ address, lineId }) => [address, lineId]));
}
