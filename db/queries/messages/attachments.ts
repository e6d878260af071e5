import { sql } from 'slonik';
import { z } from 'zod';
import {
  type FileLinks,
  linkExpiry,
  type LinkReader,
  REPLY_LINK_DAYS,
  type StoredFile,
} from '#domain/messages/attachment.ts';
import { type InboundAttachment, MAX_FILES } from '#domain/lines/carrier-event.ts';
import { newId } from '#domain/base/ids.ts';
import type { ReplyAttachments } from '#domain/inbox/reply.ts';
import { ROWS_INSERTED } from '#db/connection/recordset.ts';
import { AtRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** Records the files of an inbound message, up to `MAX_FILES`; they are fetched later. */
export async function insertInboundAttachments(
  db: TenantDb,
  inboundMessageId: string,
  { at, attachments }: { at: Date; attachments: readonly InboundAttachment[] },
  now: Date,
): Promise<void> {
  if (attachments.length === 0) return;
  const rows = attachments.map(({ name, contentType, url }, position) => [
    newId(now),
    name,
    contentType,
    url,
    position,
  ]);
  await db.query(sql.type(NoRows)`
    insert into attachments (workspace_id, id, name, content_type, status, inbound_message_id, told_at, position, source_url, try_at)
    select ${db.workspaceId}, a.id, a.name, a.content_type, 'waiting', ${inboundMessageId}, ${sql.timestamp(at)}, a.position,
      a.url, ${sql.timestamp(now)}
    from ${sql.unnest(rows, ['text', 'text', 'text', 'text', 'int4'])} as a (id, name, content_type, url, position)
    order by a.position
    limit greatest(0, ${MAX_FILES} - (
      select count(*) from attachments where workspace_id = ${db.workspaceId} and inbound_message_id = ${inboundMessageId}))
    ${ROWS_INSERTED}`);
}

/** Records an upload that is already in storage. */
export async function insertUpload(
  db: TenantDb,
  {
    id,
    name,
    contentType,
    size,
    keptUntil,
  }: { id: string; name: string; contentType: string; size: number; keptUntil: Date },
  now: Date,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into attachments (workspace_id, id, name, content_type, size, status, created_at, kept_until)
    values (${db.workspaceId}, ${id}, ${name}, ${contentType}, ${size}, 'stored', ${sql.timestamp(now)},
      ${sql.timestamp(keptUntil)})`);
}

const InboundFileRow = z.object({
  id: z.string(),
  inboundMessageId: z.string(),
  name: z.string(),
  contentType: z.string().nullable(),
  size: z.int().nullable(),
  createdAt: z.date(),
});

export interface InboundFiles {
  files: StoredFile[];
  /** The fields of a reply; empty if there are no files. */
  shown: ReplyAttachments;
  /** Their types and sizes. */
  facts: FileFacts[];
}

export interface FileFacts {
  contentType: string | null;
  /** Bytes. */
  size: number | null;
}

/** The stored files of inbound messages, in the order in which the carrier reported them. */
export async function inboundFiles(
  db: TenantDb,
  inboundMessageIds: readonly string[],
  links: FileLinks,
  now: Date,
): Promise<Map<string, InboundFiles>> {
  if (inboundMessageIds.length === 0) return new Map();
  const rows = await db.any(sql.type(InboundFileRow)`
    select id, inbound_message_id, name, content_type, size, created_at from attachments
    where workspace_id = ${db.workspaceId} and status = 'stored'
      and inbound_message_id = any(${sql.array([...inboundMessageIds], 'text')})
      and inbound_message_id not in (
        select id from inbound_messages
        where workspace_id = ${db.workspaceId} and id = any(${sql.array([...inboundMessageIds], 'text')}) and unsent_at is not null)
    order by told_at, position, name, id`);
  const found = new Map<string, InboundFiles>();
  for (const [messageId, own] of Map.groupBy(rows, (row) => row.inboundMessageId)) {
    const files = own.map(({ id, name }) => ({ workspaceId: db.workspaceId, attachmentId: id, name }));
    const urls = own.map(({ createdAt }, index) =>
      links.sign(files[index] as StoredFile, linkExpiry(createdAt, now, REPLY_LINK_DAYS)),
    );
    found.set(messageId, {
      files,
      shown: { attachmentDownloadUrls: urls, attachmentNames: files.map(({ name }) => name) },
      facts: own.map(({ contentType, size }) => ({ contentType, size })),
    });
  }
  return found;
}

const UploadRow = z.object({ id: z.string(), contentType: z.string().nullable(), size: z.int().nullable() });

/** The types and sizes of uploads that are stored, by their links. Other links are left out. */
export async function uploadFacts(
  db: TenantDb,
  urls: readonly string[],
  links: LinkReader,
): Promise<ReadonlyMap<string, FileFacts>> {
  const byUrl = new Map<string, string>();
  for (const url of urls) {
    const file = links.openUnverified(url);
    if (file?.workspaceId === db.workspaceId) byUrl.set(url, file.attachmentId);
  }
  if (byUrl.size === 0) return new Map();
  const rows = await db.any(sql.type(UploadRow)`
    select id, content_type, size from attachments
    where workspace_id = ${db.workspaceId} and status = 'stored' and id = any(${sql.array([...byUrl.values()], 'text')})`);
  const byId = new Map(rows.map(({ id, ...facts }) => [id, facts]));
  return new Map(
    [...byUrl].flatMap(([url, id]) => {
      const facts = byId.get(id);
      return facts ? [[url, facts] as const] : [];
    }),
  );
}

const StoredAttachmentRow = z.object({
  id: z.string(),
  name: z.string(),
  contentType: z.string().nullable(),
  size: z.int(),
});

export async function findStoredAttachment(
  db: TenantDb,
  id: string,
): Promise<z.infer<typeof StoredAttachmentRow> | null> {
  return db.maybeOne(sql.type(StoredAttachmentRow)`
    select id, name, content_type, size from attachments
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'stored'`);
}

const WaitingAttachmentRow = z.object({
  id: z.string(),
  lineId: z.string(),
  /** The contact who sent it; null for a recording. */
  address: z.string().nullable(),
  contentType: z.string().nullable(),
  sourceUrl: z.string(),
  tries: z.int(),
});
export type WaitingAttachment = z.infer<typeof WaitingAttachmentRow>;

/** Files that are due to be fetched, the longest overdue first. */
export async function dueAttachments(db: TenantDb, now: Date, limit: number): Promise<WaitingAttachment[]> {
  const rows = await db.any(sql.type(WaitingAttachmentRow)`
    select a.id, coalesce(i.line_id, c.line_id) line_id, i.address, a.content_type, a.source_url, a.tries
    from attachments a
    left join inbound_messages i on i.workspace_id = a.workspace_id and i.id = a.inbound_message_id
    left join calls c on c.workspace_id = a.workspace_id and c.id = a.call_id
    where a.workspace_id = ${db.workspaceId} and a.status = 'waiting' and a.try_at <= ${sql.timestamp(now)}
    order by a.try_at, a.told_at, a.position limit ${limit}`);
  return [...rows];
}

/** When the next file is due; null if none is waiting. */
export async function nextAttachmentAt(db: TenantDb): Promise<Date | null> {
  return db.oneFirst(sql.type(AtRow)`
    select min(try_at) "at" from attachments where workspace_id = ${db.workspaceId} and status = 'waiting'`);
}

/** @returns false if the file is no longer needed, because its contact was erased. */
export async function markStored(
  db: TenantDb,
  id: string,
  { size, contentType }: { size: number; contentType: string | null },
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update attachments set status = 'stored', size = ${size}, content_type = ${contentType}
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'waiting'`);
  return rowCount > 0;
}

/** @param failure the reason, stored if there is no retry. @param tryAt when to retry; null: never. */
export async function markFetchFailed(
  db: TenantDb,
  id: string,
  { failure, tryAt }: { failure: string; tryAt: Date | null },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update attachments set tries = tries + 1, status = ${tryAt ? 'waiting' : 'failed'}, try_at = ${tryAt && sql.timestamp(tryAt)},
      failure = ${tryAt ? null : failure}
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'waiting'`);
}

/** Lets files that are due wait: one, those of a contact, or all. It counts as no try. */
export async function postpone(
  db: TenantDb,
  which: { id: string } | { address: string | null } | 'all',
  { now, until }: { now: Date; until: Date },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update attachments a set try_at = ${sql.timestamp(until)}
    where ${sql.and([
      sql.fragment`a.workspace_id = ${db.workspaceId} and a.status = 'waiting' and a.try_at <= ${sql.timestamp(now)}`,
      which !== 'all' && 'id' in which && sql.fragment`a.id = ${which.id}`,
      which !== 'all' &&
        'address' in which &&
        sql.fragment`exists (
          select from inbound_messages i
          where i.workspace_id = a.workspace_id and i.id = a.inbound_message_id and i.address = ${which.address})`,
    ])}`);
}
