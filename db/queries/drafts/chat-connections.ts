import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import {
  CHAT_CODE_MS,
  type ChatConnection,
  type ChatConnectionInput,
  ChatProviderName,
  ChatScope,
} from '#domain/drafts/chat.ts';

const Row = z.object({
  id: z.string(),
  provider: ChatProviderName,
  scope: ChatScope,
  userId: z.string(),
  status: z.enum(['pending', 'linked', 'broken', 'removed']),
  chatId: z.string().nullable(),
  externalUserId: z.string().nullable(),
  error: z.string().nullable(),
  expiresAt: z.date().nullable(),
  linkedAt: z.date().nullable(),
  createdAt: z.date(),
});
export type ChatConnectionRow = z.infer<typeof Row>;

/** Removed ones are kept, because an erasure reaches their messages. */
const isShown = (now: Date) =>
  sql.fragment`(status in ('linked', 'broken') or status = 'pending' and expires_at > ${sql.timestamp(now)})`;

/** Those of the workspace and its members, newest first. */
export async function listChatConnections(db: TenantDb, now: Date): Promise<readonly ChatConnectionRow[]> {
  return db.any(sql.type(Row)`
    select * from chat_connections where workspace_id = ${db.workspaceId} and ${isShown(now)}
    order by id desc`);
}

export async function findChatConnection(
  db: TenantDb,
  id: string,
  now: Date,
): Promise<ChatConnectionRow | null> {
  return db.maybeOne(sql.type(Row)`
    select * from chat_connections where workspace_id = ${db.workspaceId} and id = ${id} and ${isShown(now)}`);
}

/** A connection that a code links. It replaces one of the same user whose code was not used. */
export async function insertChatConnection(
  db: TenantDb,
  { provider, scope }: ChatConnectionInput,
  { userId, codeHash }: { userId: string; codeHash: string },
  now: Date,
): Promise<ChatConnectionRow> {
  await db.query(sql.type(NoRows)`
    delete from chat_connections
    where workspace_id = ${db.workspaceId} and provider = ${provider} and scope = ${scope} and user_id = ${userId} and status = 'pending'`);
  return db.one(sql.type(Row)`
    insert into chat_connections (workspace_id, id, provider, scope, user_id, code_hash, expires_at, created_at)
    values (${db.workspaceId}, ${newId(now)}, ${provider}, ${scope}, ${userId}, ${codeHash},
      ${sql.timestamp(new Date(now.getTime() + CHAT_CODE_MS))}, ${sql.timestamp(now)})
    returning *`);
}

const PlaceRow = z.object({ workspaceId: z.string(), id: z.string() });

/** The connection that a code links; null if there is none. */
export async function findChatCode(
  db: SystemDb,
  provider: ChatProviderName,
  codeHash: string,
): Promise<z.infer<typeof PlaceRow> | null> {
  return db.maybeOne(sql.type(PlaceRow)`
    select workspace_id, id from chat_connections
    where code_hash = ${codeHash} and provider = ${provider} and status = 'pending'`);
}

/** The connections of a chat, which may belong to several workspaces. */
export async function connectionsOfChat(
  db: SystemDb,
  provider: ChatProviderName,
  chatId: string,
): Promise<readonly z.infer<typeof PlaceRow>[]> {
  return db.any(sql.type(PlaceRow)`
    select workspace_id, id from chat_connections
    where provider = ${provider} and chat_id = ${chatId} and status in ('linked', 'broken')
    order by id`);
}

/** Whether anybody has linked a chat at a provider, or may do so now. */
export const hasChats = (db: SystemDb, provider: ChatProviderName, now: Date): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from chat_connections
    where provider = ${provider}
      and (status in ('linked', 'broken') or (code_hash is not null and expires_at > ${sql.timestamp(now)}))`);

/** The connection that a code links now. Locks it. Chats of a workspace are linked one after the other: one replaces another. */
export async function lockPendingChat(
  db: TenantDb,
  id: string,
  codeHash: string,
  now: Date,
): Promise<ChatConnectionRow | null> {
  const name = `chats of ${db.workspaceId}`;
  await db.query(sql.type(NoRows)`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
  return db.maybeOne(sql.type(Row)`
    select * from chat_connections
    where workspace_id = ${db.workspaceId} and id = ${id} and code_hash = ${codeHash} and status = 'pending'
      and expires_at > ${sql.timestamp(now)}
    for no key update`);
}

/** Links a chat. @returns the connections that it replaces: a member has one chat at a provider, and so has the workspace. */
export async function linkChat(
  db: TenantDb,
  { id, provider, scope, userId }: ChatConnectionRow,
  { chatId, externalUserId }: { chatId: string; externalUserId: string },
  now: Date,
): Promise<readonly string[]> {
  const replaced = await db.anyFirst(sql.type(IdRow)`
    update chat_connections set status = 'removed'
    where workspace_id = ${db.workspaceId} and provider = ${provider} and scope = ${scope} and status in ('linked', 'broken')
      and (scope = 'workspace' or user_id = ${userId})
    returning id`);
  await db.query(sql.type(NoRows)`
    update chat_connections set status = 'linked', code_hash = null, expires_at = null, chat_id = ${chatId},
      external_user_id = ${externalUserId}, linked_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${id}`);
  return replaced;
}

const IdRow = z.object({ id: z.string() });

const REMOVED = sql.fragment`status = 'removed', code_hash = null, expires_at = null`;

export async function removeChatConnection(db: TenantDb, id: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update chat_connections set ${REMOVED} where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Removes those that a user has linked, and the codes that they have not used. @returns their ids */
export const removeChatConnectionsOf = (db: TenantDb, userId: string): Promise<readonly string[]> =>
  db.anyFirst(sql.type(IdRow)`
    update chat_connections set ${REMOVED}
    where workspace_id = ${db.workspaceId} and user_id = ${userId} and status <> 'removed'
    returning id`);

/** Nothing reaches the chat any more. @returns false if that was known. */
export async function breakChatConnection(db: TenantDb, id: string, error: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update chat_connections set status = 'broken', error = ${error}
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'linked'`);
  return rowCount > 0;
}

/** The chat has another id, and the bot is in it. @returns false if that was known. */
export async function moveChatConnection(db: TenantDb, id: string, chatId: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update chat_connections set chat_id = ${chatId}, error = null,
      status = case status when 'broken' then 'linked' else status end
    where workspace_id = ${db.workspaceId} and id = ${id} and chat_id <> ${chatId}`);
  return rowCount > 0;
}

const UserIdRow = z.object({ userId: z.string() });

/** The user who acts with an account of the provider; null: nobody has linked it. */
export async function userOfChatAccount(
  db: TenantDb,
  provider: ChatProviderName,
  externalUserId: string,
): Promise<string | null> {
  return db.maybeOneFirst(sql.type(UserIdRow)`
    select user_id from chat_connections
    where workspace_id = ${db.workspaceId} and provider = ${provider} and external_user_id = ${externalUserId} and status = 'linked'
    order by linked_at desc limit 1`);
}

/** The chats that are told of a draft to a lead: those of its contact owner, else those of the workspace. */
export async function chatsToNotify(db: TenantDb, leadId: string | null): Promise<readonly string[]> {
  return db.anyFirst(sql.type(IdRow)`
    with linked as (
      select c.id, c.scope from chat_connections c
      where c.workspace_id = ${db.workspaceId} and c.status = 'linked' and (c.scope = 'workspace' or c.user_id = (
        select u.user_id from leads l join current_team() u on lower(u.email) = lower(btrim(l.contact_owner_email))
        where l.workspace_id = ${db.workspaceId} and l.id = ${leadId}
        limit 1))
    )
    select id from linked where scope = 'member' or not exists (select from linked where scope = 'member')`);
}

export const presentChatConnection = (row: ChatConnectionRow): ChatConnection => ({
  _id: row.id,
  provider: row.provider,
  scope: row.scope,
  userId: row.userId,
  status: row.status === 'removed' ? 'broken' : row.status,
  error: row.error,
  createdAt: row.createdAt.toISOString(),
  linkedAt: row.linkedAt?.toISOString() ?? null,
});
