import { sql } from 'slonik';
import { z } from 'zod';
import { AtRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { notify } from '#db/commands/events/notifications.ts';
import { ANSWERED } from '#db/queries/drafts/ai-drafts.ts';
import {
  breakChatConnection,
  chatsToNotify,
  moveChatConnection,
  removeChatConnectionsOf,
} from '#db/queries/drafts/chat-connections.ts';
import { contactName, SAID, shownText } from '#db/queries/inbox/replies.ts';
import { wake } from '#db/wakes/wakes.ts';
import { newId } from '#domain/base/ids.ts';
import { StoredDraftStatus } from '#domain/drafts/ai-draft.ts';
import { ChatProviderName, type DraftForChat } from '#domain/drafts/chat.ts';
import { ApprovalChannel, DraftSource } from '#domain/events/ai-draft.ts';
import { shownReply } from '#domain/inbox/reply.ts';
import { chatMessengerId } from '#workflows/protocol/workflow-ids.ts';

/**
 * The outbox of chats. A row says that a chat is told of a draft, and when its message is to be brought up to date. What it then
 * shows is made of the draft as it is, so a change of a draft only makes its rows due.
 */

const wakeMessenger = (db: TenantDb, at: Date): void =>
  wake(db, chatMessengerId(db.workspaceId), at, 'chatsDue');

/** How long a draft waits for somebody in the console before an email tells of it. */
const EMAIL_AFTER_MS = 5 * 60_000;

/**
 * Tells of a draft in the chats that are to know, or by email if there are none, in the transaction that offers it. In test mode nobody
 * is told.
 */
export async function notifyOfDraft(
  db: TenantDb,
  { replyId, leadId }: { replyId: string; leadId: string | null },
  now: Date,
): Promise<void> {
  if (db.aheadMs !== null) return;
  const chats = await chatsToNotify(db, leadId);
  if (chats.length === 0) await emailDraft(db, replyId, now, new Date(now.getTime() + EMAIL_AFTER_MS));
  for (const connectionId of chats)
    await db.query(sql.type(NoRows)`
      insert into chat_messages (workspace_id, id, connection_id, reply_id, due_at, created_at)
      values (${db.workspaceId}, ${newId(now)}, ${connectionId}, ${replyId}, ${sql.timestamp(now)}, ${sql.timestamp(now)})
      on conflict (workspace_id, reply_id, connection_id) do nothing`);
  await refreshChats(db, replyId, now);
}

/** Tells of a draft by email, if it is still open when that is due. */
export const emailDraft = (db: TenantDb, replyId: string, now: Date, dueAt: Date): Promise<void> =>
  notify(db, `draft:${replyId}`, { about: 'draft_waiting', replyId }, now, dueAt);

const OpenRow = z.object({ replyId: z.string(), leadId: z.string().nullable() });

/** Nothing reaches the chat any more: others are told at once of the open drafts of which it was told. */
export async function breakChat(db: TenantDb, connectionId: string, error: string, now: Date): Promise<void> {
  if (await breakChatConnection(db, connectionId, error)) await tellOthers(db, [connectionId], now);
}

/** The chat has another id, and is told anew of the open drafts: its earlier messages cannot be changed any more. */
export async function moveChat(db: TenantDb, connectionId: string, to: string, now: Date): Promise<void> {
  if (!(await moveChatConnection(db, connectionId, to))) return;
  await db.query(sql.type(NoRows)`
    update chat_messages set message_id = null, due_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and connection_id = ${connectionId}`);
  wakeMessenger(db, now);
}

/** Tells others of the open drafts of which chats were told that are not reached any more. */
async function tellOthers(db: TenantDb, connectionIds: readonly string[], now: Date): Promise<void> {
  const open = await db.any(sql.type(OpenRow)`
    select d.reply_id, coalesce(d.lead_id, i.lead_id) lead_id from chat_messages m
    join ai_drafts d on d.workspace_id = ${db.workspaceId} and d.reply_id = m.reply_id and d.status = 'drafted' ${ANSWERED}
    where m.workspace_id = ${db.workspaceId} and m.connection_id = any(${sql.array([...connectionIds], 'text')})`);
  for (const { replyId, leadId } of open)
    if ((await chatsToNotify(db, leadId)).length === 0) await emailDraft(db, replyId, now, now);
    else await notifyOfDraft(db, { replyId, leadId }, now);
}

/** Brings the messages about a draft that has changed up to date. */
export async function refreshChats(db: TenantDb, replyId: string, now: Date): Promise<void> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update chat_messages set due_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId}`);
  if (rowCount > 0) wakeMessenger(db, now);
}

/** Empties the messages about open drafts in chats that are not linked any more, and tells others of those. */
export async function closeChats(db: TenantDb, connectionIds: readonly string[], now: Date): Promise<void> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update chat_messages m set due_at = ${sql.timestamp(now)}
    from ai_drafts d
    where m.workspace_id = ${db.workspaceId} and m.connection_id = any(${sql.array([...connectionIds], 'text')})
      and d.workspace_id = ${db.workspaceId} and d.reply_id = m.reply_id and d.status = 'drafted'`);
  if (rowCount === 0) return;
  wakeMessenger(db, now);
  await tellOthers(db, connectionIds, now);
}

/** A member is one no longer: their chats are told nothing any more, also not those that they have linked for the workspace. */
export async function unlinkChatsOf(db: TenantDb, userId: string, now: Date): Promise<void> {
  await closeChats(db, await removeChatConnectionsOf(db, userId), now);
}

/** Deletes what chats were told of the drafts to these addresses, as far as their providers allow. */
export async function eraseChats(db: TenantDb, addresses: readonly string[], now: Date): Promise<void> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update chat_messages m set erased = true, due_at = ${sql.timestamp(now)}
    from ai_drafts d
    where m.workspace_id = ${db.workspaceId} and d.workspace_id = ${db.workspaceId} and d.reply_id = m.reply_id
      and d.address = any(${sql.array([...addresses], 'text')})`);
  if (rowCount > 0) wakeMessenger(db, now);
}

const ChatMessageRow = z.object({
  id: z.string(),
  connectionId: z.string(),
  replyId: z.string(),
  messageId: z.string().nullable(),
  erased: z.boolean(),
  dueAt: z.date().nullable(),
  createdAt: z.date(),
  provider: ChatProviderName,
  chatId: z.string(),
  connectionStatus: z.enum(['linked', 'broken', 'removed']),
});
export type ChatMessageRow = z.infer<typeof ChatMessageRow>;

const MESSAGE = sql.fragment`m.*, c.provider, c.chat_id, c.status connection_status`;

/**
 * Claims the message that is longest overdue by postponing it.
 * @param until when it is tried again if the process crashes.
 * @param without the ids of those that are not to be claimed.
 */
export async function claimChatMessage(
  db: TenantDb,
  now: Date,
  { until, without }: { until: Date; without: readonly string[] },
): Promise<ChatMessageRow | null> {
  return db.maybeOne(sql.type(ChatMessageRow)`
    update chat_messages m set due_at = ${sql.timestamp(until)}
    from chat_connections c
    where c.workspace_id = ${db.workspaceId} and c.id = m.connection_id and m.workspace_id = ${db.workspaceId} and m.id = (
      select id from chat_messages
      where workspace_id = ${db.workspaceId} and due_at <= ${sql.timestamp(now)}
        and id <> all(${sql.array([...without], 'text')})
      order by due_at, id limit 1 for no key update skip locked)
    returning ${MESSAGE}`);
}

/** When the next message is due; null: all are up to date. */
export async function nextChatMessageAt(db: TenantDb): Promise<Date | null> {
  return db.oneFirst(sql.type(AtRow)`
    select min(due_at) "at" from chat_messages where workspace_id = ${db.workspaceId} and due_at is not null`);
}

/** It is as it should be, unless its draft has changed since it was claimed. */
export async function settleChatMessage(
  db: TenantDb,
  { id, dueAt }: Pick<ChatMessageRow, 'id' | 'dueAt'>,
  messageId: string | null,
): Promise<void> {
  const claimedUntil = dueAt === null ? null : sql.timestamp(dueAt);
  await db.query(sql.type(NoRows)`
    update chat_messages set message_id = coalesce(message_id, ${messageId}),
      due_at = case when due_at = ${claimedUntil} then null else due_at end
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

export async function deleteChatMessage(db: TenantDb, id: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from chat_messages where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Tries again later. @param restsChat the provider wants nothing for the chat before. */
export async function postponeChatMessage(
  db: TenantDb,
  { id, connectionId }: Pick<ChatMessageRow, 'id' | 'connectionId'>,
  { until, restsChat }: { until: Date; restsChat: boolean },
): Promise<void> {
  const at = sql.timestamp(until);
  await db.query(
    restsChat
      ? sql.type(NoRows)`
    update chat_messages set due_at = case when id = ${id} then ${at} else greatest(due_at, ${at}) end
    where workspace_id = ${db.workspaceId} and connection_id = ${connectionId} and due_at is not null`
      : sql.type(NoRows)`
    update chat_messages set due_at = ${at} where workspace_id = ${db.workspaceId} and id = ${id}`,
  );
}

/** The message with a button, or the one that somebody answered, in a chat of the workspace. */
export async function findChatMessage(
  db: TenantDb,
  connectionId: string,
  by: { id: string } | { messageId: string },
): Promise<ChatMessageRow | null> {
  const named = 'id' in by ? sql.fragment`m.id = ${by.id}` : sql.fragment`m.message_id = ${by.messageId}`;
  return db.maybeOne(sql.type(ChatMessageRow)`
    select ${MESSAGE} from chat_messages m
    join chat_connections c on c.workspace_id = ${db.workspaceId} and c.id = m.connection_id
    where m.workspace_id = ${db.workspaceId} and m.connection_id = ${connectionId} and ${named}`);
}

const ToldRow = z.object({
  address: z.string(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  body: z.string().nullable(),
  leadId: z.string().nullable(),
  contactOwnerEmail: z.string().nullable(),
  source: DraftSource,
  status: StoredDraftStatus,
  draft: z.string().nullable(),
  confidence: z.number().nullable(),
  version: z.int(),
  isRetrying: z.boolean(),
  isRetryFailed: z.boolean(),
  approvalChannel: ApprovalChannel.nullable(),
  resolvedBy: z.string().nullable(),
  resolvedAt: z.date().nullable(),
  userName: z.string().nullable(),
  userEmail: z.string().nullable(),
  sentBody: z.string().nullable(),
  sentText: z.string().nullable(),
});

/** What a chat is told of a draft; null: it was deleted. */
export async function draftForChat(
  db: TenantDb,
  replyId: string,
): Promise<(DraftForChat & { leadId: string | null; contactOwnerEmail: string | null }) | null> {
  const row = await db.maybeOne(sql.type(ToldRow)`
    select d.address, l.first_name, l.last_name, ${SAID} body, l.id lead_id, l.contact_owner_email, d.source, d.status, d.draft, d.confidence, d.version,
      d.retry_at is not null is_retrying, d.retry_error is not null is_retry_failed, d.approval_channel, d.resolved_by, d.resolved_at, u.name user_name, u.email user_email, m.body sent_body, m.sent_text
    from ai_drafts d ${ANSWERED}
    left join leads l on l.workspace_id = ${db.workspaceId} and l.id = coalesce(d.lead_id, i.lead_id)
    left join current_team() u on u.user_id = d.resolved_by_user_id
    left join messages m on m.workspace_id = ${db.workspaceId} and m.id = d.message_id
    where d.workspace_id = ${db.workspaceId} and d.reply_id = ${replyId}`);
  if (!row) return null;
  const { firstName, lastName, address } = row;
  const name = contactName({ firstName: firstName ?? '', lastName: lastName ?? '' }, null, address);
  const sent = row.sentBody === null ? null : shownText({ body: row.sentBody, sentText: row.sentText });
  return {
    ...row,
    name: name === address ? null : name,
    question: shownReply(row.body ?? ''),
    by: nameOf(row),
    sentInstead: sent === null || sent === row.draft ? null : sent,
  };
}

/** A person, as the team knows them; an operator by their name; a program as such. */
function nameOf({
  userName,
  userEmail,
  resolvedBy,
}: Pick<z.infer<typeof ToldRow>, 'userName' | 'userEmail' | 'resolvedBy'>): string | null {
  if (resolvedBy === null) return null;
  if (resolvedBy.startsWith('key ')) return 'a program';
  if (userName !== null && userName !== '') return userName;
  if (userEmail !== null) return userEmail;
  return resolvedBy.startsWith('operator ') ? resolvedBy : 'a former member';
}
