import { sql } from 'slonik';
import { z } from 'zod';
import type { FileLinks } from '#domain/messages/attachment.ts';
import {
  type ParentMessage,
  type RecentReply,
  type Reply,
  SHOWN_LENGTH,
  shownReply,
  type WholeReply,
} from '#domain/inbox/reply.ts';
import { SenderAuthentication, SenderWarning } from '#domain/lines/sender-authentication.ts';
import { VariantName } from '#domain/messages/variant-name.ts';
import { type InboundFiles, inboundFiles } from '../messages/attachments.ts';
import { findGroups, presentGroup } from './groups.ts';
import { findLeads, type LeadRow } from '../contacts/leads.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { DISPATCHED_AT, IS_DISPATCHED } from '../messages/messages.ts';

/** An inbound message. */
export const InboundRow = z.object({
  id: z.string(),
  workspaceId: z.string(),
  lineId: z.string(),
  address: z.string(),
  /** The number of the contact as it was written, if `address` is another form of it. */
  senderPhone: z.string().nullable(),
  /** Who wrote it to a group, if they can be written to. */
  participant: z.string().nullable(),
  carrierMessageId: z.string(),
  leadId: z.string().nullable(),
  campaignId: z.string().nullable(),
  originalMessageId: z.string().nullable(),
  body: z.string(),
  autoReply: z.boolean(),
  keyword: z.enum(['stop', 'start']).nullable(),
  subject: z.string().nullable(),
  senderName: z.string().nullable(),
  authentication: SenderAuthentication.nullable(),
  /** Why it has no effects. */
  warning: SenderWarning.nullable(),
  /** Whether it counts in metrics of replies. */
  counted: z.boolean(),
  editedAt: z.date().nullable(),
  unsentAt: z.date().nullable(),
  receivedAt: z.date(),
  createdAt: z.date(),
});
export type InboundRow = z.infer<typeof InboundRow>;

/** All but those of a column that is large and rarely read. */
const columnsOf = (alias: string) =>
  sql.join(
    Object.keys(InboundRow.shape).map((name) =>
      sql.identifier([alias, name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
    ),
    sql.fragment`, `,
  );

export interface ReplyFilter {
  leadId?: string | undefined;
  lineId?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
}

export async function findReply(db: TenantDb, id: string): Promise<InboundRow | null> {
  return db.maybeOne(sql.type(InboundRow)`
    select * from inbound_messages where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Whether a message from an address has arrived since a time, other than an automatic one. */
export const hasWrittenSince = (db: TenantDb, address: string, since: Date): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select from inbound_messages
    where workspace_id = ${db.workspaceId} and address = ${address} and not auto_reply and warning is null
      and created_at > ${sql.timestamp(since)}`);

/** What a contact wrote, or else what was heard in their audio, of `inbound_messages i`. */
export const SAID = sql.fragment`coalesce(nullif(i.body, ''), i.transcript, '')`;

const WholeRow = InboundRow.extend({ wholeText: z.string().nullable() });

/** With its whole text. Null: there is none, or the contact is erased. */
export async function findWholeReply(db: TenantDb, id: string): Promise<WholeReply | null> {
  const row = await db.maybeOne(sql.type(WholeRow)`
    select * from inbound_messages
    where workspace_id = ${db.workspaceId} and id = ${id} and not starts_with(address, 'erased:')`);
  return (
    row && {
      messageId: row.id,
      address: row.address,
      receivedAtUtc: row.receivedAt.toISOString(),
      subject: row.subject,
      message: row.body,
      wholeMessage: row.wholeText ?? row.body,
    }
  );
}

/** @param reply by the carrier's id of it. @returns its id. */
export async function findReplyOf(
  db: TenantDb,
  { lineId, carrierMessageId }: { lineId: string; carrierMessageId: string },
): Promise<string | null> {
  return db.maybeOneFirst(sql.type(IdRow)`
    select id from inbound_messages
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_message_id = ${carrierMessageId}`);
}

/** The newest matching reply of each conversation, newest first, starting after the position `after`. */
export async function listReplies(
  db: TenantDb,
  filter: ReplyFilter,
  { limit, after }: { limit: number; after: { at: Date; key: string } | null },
): Promise<InboundRow[]> {
  const matches = (alias: string) => {
    const column = (name: string) => sql.identifier([alias, name]);
    return sql.and([
      sql.fragment`${column('workspace_id')} = ${db.workspaceId} and not ${column('auto_reply')}`,
      filter.leadId !== undefined && sql.fragment`${column('lead_id')} = ${filter.leadId}`,
      filter.lineId !== undefined && sql.fragment`${column('line_id')} = ${filter.lineId}`,
      filter.since && sql.fragment`${column('received_at')} >= ${sql.timestamp(filter.since)}`,
      filter.until && sql.fragment`${column('received_at')} <= ${sql.timestamp(filter.until)}`,
    ]);
  };
  const rows = await db.any(sql.type(InboundRow)`
    select ${columnsOf('r')} from inbound_messages r
    where ${sql.and([
      matches('r'),
      sql.fragment`not starts_with(r.address, 'erased:')`,
      sql.fragment`not exists (
        select from inbound_messages n
        where ${matches('n')} and n.address = r.address and (n.received_at, n.id) > (r.received_at, r.id))`,
      after && sql.fragment`(r.received_at, r.id) < (${sql.timestamp(after.at)}, ${after.key})`,
    ])}
    order by r.received_at desc, r.id desc limit ${limit}`);
  return [...rows];
}

/** A reply with what the API and the events include about it. */
export interface ReplyInContext {
  row: InboundRow;
  reply: Reply;
  lead: LeadRow | null;
  files: InboundFiles['files'];
}

/** Builds replies for the API and events, in a constant number of queries. */
export async function presentReplies(
  db: TenantDb,
  rows: readonly InboundRow[],
  links: FileLinks,
  now: Date,
): Promise<ReplyInContext[]> {
  const addresses = [...new Set(rows.map(({ address }) => address))];
  const leads = await findLeads(
    db,
    rows.flatMap(({ leadId }) => leadId ?? []),
  );
  const parents = Map.groupBy(await lastOutbound(db, addresses), ({ address }) => address);
  const recent = Map.groupBy(await lastReplies(db, addresses), ({ address }) => address);
  const ids = [...rows, ...[...recent.values()].flat()].map(({ id }) => id);
  const files = await inboundFiles(db, [...new Set(ids)], links, now);
  const groups = await findGroups(db, addresses);
  return rows.map((row) => {
    const lead = leads.get(row.leadId ?? '') ?? null;
    const sent = parents.get(row.address) ?? [];
    const own = files.get(row.id);
    const group = groups.get(row.address);
    const sender = group ? row.participant : row.address;
    const isEmail = sender?.includes('@') ?? false;
    const reply: Reply = {
      leadId: lead?.id ?? null,
      messageId: row.id,
      respondedAtUtc: row.receivedAt.toISOString(),
      recipientEmail: isEmail ? sender : null,
      recipientPhone: isEmail ? null : (row.senderPhone ?? sender),
      subject: row.subject,
      warning: row.warning,
      authentication: row.authentication,
      name: contactName(
        lead,
        sent[0]?.recipientName ?? row.senderName,
        row.senderPhone ?? sender ?? row.address,
      ),
      group: group ? presentGroup(group) : null,
      ...own?.shown,
      parentMessages: sent.map(presentParent),
      recentReplies: (recent.get(row.address) ?? []).map(
        ({ id, subject, body, receivedAt }): RecentReply => ({
          messageId: id,
          subject,
          message: shownReply(body),
          receivedAtUtc: receivedAt.toISOString(),
          ...files.get(id)?.shown,
        }),
      ),
    };
    return { row, reply, lead, files: own?.files ?? [] };
  });
}

/** The lead's name, else the message's `recipientName` or the name that the contact gave, else the address. */
export function contactName(
  lead: Pick<LeadRow, 'firstName' | 'lastName'> | null,
  recipientName: string | null,
  address: string,
): string {
  const name = lead ? `${lead.firstName} ${lead.lastName}`.trim() : '';
  return name || recipientName || address;
}

/** The text of an outbound message: rendered once it is sent, the template before. */
export const shownText = ({ body, sentText }: { body: string; sentText: string | null }): string =>
  sentText ?? body;

const ParentRow = z.object({
  id: z.string(),
  address: z.string(),
  body: z.string(),
  sentText: z.string().nullable(),
  recipientName: z.string().nullable(),
  sentAt: z.date(),
  batchId: z.string().nullable(),
  stepIndex: z.int().nullable(),
  variant: VariantName.nullable(),
});

const presentParent = ({
  id,
  sentAt,
  batchId,
  stepIndex,
  variant,
  ...text
}: z.infer<typeof ParentRow>): ParentMessage => ({
  messageId: id,
  message: shownText(text),
  sentAtUtc: sentAt.toISOString(),
  batchId,
  stepIndex,
  variant,
});

/** The last two messages to each address that were sent or are being sent, because a reply can overtake the receipt. */
async function lastOutbound(
  db: TenantDb,
  addresses: readonly string[],
): Promise<z.infer<typeof ParentRow>[]> {
  if (addresses.length === 0) return [];
  const rows = await db.any(sql.type(ParentRow)`
    select m.* from ${sql.unnest(
      addresses.map((address) => [address]),
      ['text'],
    )} as a (address), lateral (
      select id, address, body, sent_text, recipient_name, ${DISPATCHED_AT} sent_at, batch_id, step_index, variant
      from messages
      where workspace_id = ${db.workspaceId} and address = a.address
        and ${IS_DISPATCHED}
      order by ${DISPATCHED_AT} desc, id desc limit 2
    ) m`);
  return [...rows];
}

const RecentRow = InboundRow.pick({ id: true, address: true, subject: true, body: true, receivedAt: true });

async function lastReplies(db: TenantDb, addresses: readonly string[]): Promise<z.infer<typeof RecentRow>[]> {
  if (addresses.length === 0) return [];
  const rows = await db.any(sql.type(RecentRow)`
    select r.* from ${sql.unnest(
      addresses.map((address) => [address]),
      ['text'],
    )} as a (address), lateral (
      select id, address, subject, left(body, ${SHOWN_LENGTH}) body, received_at from inbound_messages
      where workspace_id = ${db.workspaceId} and address = a.address and not auto_reply and unsent_at is null
      order by received_at desc, id desc limit 10
    ) r`);
  return [...rows];
}
