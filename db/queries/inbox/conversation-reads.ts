import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { CountRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { MAX_UNREAD, UNREAD_DAYS } from '#domain/inbox/conversation.ts';
import { findInboxMember } from './inbox-members.ts';

/** The user who reads conversations, and the current time. */
export interface Reader {
  workspaceId: string;
  /** null: a key, which reads nothing. */
  userId: string | null;
  now: Date;
  /** What arrived before is not unread. */
  since: Date;
}

export async function readerOf(
  db: TenantDb,
  { via, userId }: Pick<WorkspaceCaller, 'via' | 'userId'>,
  now: Date,
): Promise<Reader> {
  const earliest = new Date(now.getTime() - UNREAD_DAYS * 86_400_000);
  const { workspaceId } = db;
  if (via === 'key' || userId === null) return { workspaceId, userId: null, now, since: earliest };
  const joined = (await findInboxMember(db, userId))?.inboxSince ?? earliest;
  return { workspaceId, userId, now, since: joined > earliest ? joined : earliest };
}

const readsOf = ({ workspaceId, userId }: Reader): FragmentSqlToken =>
  sql.fragment`r.workspace_id = ${workspaceId} and r.address = c.address and r.user_id = ${userId}`;

/** Until when a conversation `c` counts as read. Nulls are ignored. @param readAt by the user; default: looked up. */
const readUntil = (
  reader: Reader,
  readAt = sql.fragment`(select r.read_at from conversation_reads r where ${readsOf(reader)})`,
): FragmentSqlToken =>
  sql.fragment`greatest(${sql.timestamp(reader.since)}, ${
    reader.userId === null ? sql.fragment`c.last_outbound_at` : readAt
  })`;

/** Whether a conversation `c` is unread; null if the contact has never written. */
export const isUnread = (reader: Reader): FragmentSqlToken =>
  sql.fragment`c.last_inbound_at > ${readUntil(reader)}`;

/** The same of all conversations `c`: together with what was read, not looked up for each. */
export const unreadOfAll = (reader: Reader): { reads: FragmentSqlToken; isUnread: FragmentSqlToken } => ({
  reads: sql.fragment`left join conversation_reads r on ${readsOf(reader)}`,
  isUnread: sql.fragment`c.last_inbound_at > ${readUntil(reader, sql.fragment`r.read_at`)}`,
});

const UnreadRow = CountRow.extend({ address: z.string() });

/** The number of unread messages in those of the conversations that are unread. */
export async function unreadMessages(
  db: TenantDb,
  addresses: readonly string[],
  reader: Reader,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db.any(sql.type(UnreadRow)`
    select c.address, (
      select count(*)::int from (
        select from inbound_messages i
        where i.workspace_id = ${db.workspaceId} and i.address = c.address and not i.auto_reply
          and i.received_at > ${readUntil(reader)}
        limit ${MAX_UNREAD}
      ) unread) count
    from conversations c
    where c.workspace_id = ${db.workspaceId} and c.address = any(${sql.array([...addresses], 'text')})
      and ${isUnread(reader)}`);
  return new Map(rows.map(({ address, count }) => [address, count]));
}

/** Everything that has arrived so far is read. What a carrier delivers late is not. */
export async function markRead(db: TenantDb, address: string, { userId, now }: Reader): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into conversation_reads (workspace_id, address, user_id, read_at)
    select workspace_id, address, ${userId}, coalesce(last_inbound_at, ${sql.timestamp(now)}) from conversations
    where workspace_id = ${db.workspaceId} and address = ${address}
    on conflict (workspace_id, address, user_id) do update
      set read_at = greatest(conversation_reads.read_at, excluded.read_at)`);
}

/** The last message of the contact is unread again. */
export async function markUnread(db: TenantDb, address: string, { userId }: Reader): Promise<void> {
  await db.query(sql.type(NoRows)`
    update conversation_reads r set read_at = c.last_inbound_at - interval '1 microsecond'
    from conversations c
    where c.workspace_id = ${db.workspaceId} and c.address = ${address} and c.last_inbound_at is not null
      and r.workspace_id = ${db.workspaceId} and r.address = ${address} and r.user_id = ${userId}
      and r.read_at >= c.last_inbound_at`);
}

export async function deleteReadsOf(db: TenantDb, addresses: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from conversation_reads
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')})`);
}
