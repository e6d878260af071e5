import { sql } from 'slonik';
import { z } from 'zod';
import { Channel } from '#domain/base/channel.ts';
import { StoredReaction } from '#domain/messages/reaction.ts';
import { StoredStatus } from '#domain/messages/message-status.ts';
import { CrmIds } from '#domain/messages/message.ts';
import { MessageAction } from '#domain/messages/message-action.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const ActionStatus = z.enum(['pending', 'calling', 'done', 'failed']);

const ActionRow = z.object({
  id: z.string(),
  lineId: z.string(),
  messageId: z.string(),
  /** Its kind and content. */
  action: MessageAction,
  actorName: z.string().nullable(),
  status: ActionStatus,
  reason: z.string().nullable(),
  failures: z.int(),
  dueAt: z.date(),
  expiresAt: z.date(),
  startedAt: z.date().nullable(),
  answerBy: z.date().nullable(),
  finishedAt: z.date().nullable(),
  createdAt: z.date(),
});
export type ActionRow = z.infer<typeof ActionRow>;

const COLUMNS = sql.fragment`id, line_id, message_id, content || jsonb_build_object('kind', kind) action, actor_name, status, reason,
  failures, due_at, expires_at, started_at, answer_by, finished_at, created_at`;

/** A message that an action is about: of ours, or of a contact. */
const TargetRow = z.object({
  id: z.string(),
  direction: z.enum(['in', 'out']),
  lineId: z.string().nullable(),
  /** Null: that of its line. */
  channel: Channel.nullable(),
  address: z.string(),
  /** The contact's number as it was written. */
  phone: z.string().nullable(),
  carrierMessageId: z.string().nullable(),
  leadId: z.string().nullable(),
  campaignId: z.string().nullable(),
  crm: CrmIds,
  status: StoredStatus.nullable(),
  hasText: z.boolean(),
  sentAt: z.date().nullable(),
  unsentAt: z.date().nullable(),
  reactions: z.array(StoredReaction),
});
export type ActionTarget = z.infer<typeof TargetRow>;

/** Erased messages are not found. */
export const findActionTarget = (db: TenantDb, id: string): Promise<ActionTarget | null> =>
  readTarget(db, id, sql.fragment``);

/** Locks the message, so that its reactions change one after the other. */
export const lockTarget = (db: TenantDb, id: string): Promise<ActionTarget | null> =>
  readTarget(db, id, sql.fragment`for no key update`);

async function readTarget(
  db: TenantDb,
  id: string,
  locked: ReturnType<typeof sql.fragment>,
): Promise<ActionTarget | null> {
  const own = await db.maybeOne(sql.type(TargetRow)`
    select id, 'out' direction, line_id, channel, address, recipient_phone phone, carrier_message_id, lead_id, campaign_id, crm, status,
      coalesce(sent_text, body) <> '' has_text, sent_at, unsent_at, reactions
    from messages
    where workspace_id = ${db.workspaceId} and id = ${id} and not starts_with(address, 'erased:') ${locked}`);
  if (own) return own;
  return db.maybeOne(sql.type(TargetRow)`
    select id, 'in' direction, line_id, null channel, address, sender_phone phone, carrier_message_id, lead_id, campaign_id, '{}'::jsonb crm,
      null status, body <> '' has_text, null::timestamptz sent_at, unsent_at, reactions
    from inbound_messages
    where workspace_id = ${db.workspaceId} and id = ${id} and not starts_with(address, 'erased:') ${locked}`);
}

export async function storeReactions(
  db: TenantDb,
  { id, direction }: Pick<ActionTarget, 'id' | 'direction'>,
  reactions: readonly StoredReaction[],
): Promise<void> {
  const stored = sql.jsonb(reactions);
  await db.query(
    direction === 'out'
      ? sql.type(NoRows)`update messages set reactions = ${stored}, updated_at = now()
          where workspace_id = ${db.workspaceId} and id = ${id}`
      : sql.type(NoRows)`update inbound_messages set reactions = ${stored}
          where workspace_id = ${db.workspaceId} and id = ${id}`,
  );
}

export async function insertAction(
  db: TenantDb,
  {
    id,
    lineId,
    messageId,
    action: { kind, ...content },
    actorName,
    dueAt,
    expiresAt,
  }: Pick<ActionRow, 'id' | 'lineId' | 'messageId' | 'action' | 'actorName' | 'dueAt' | 'expiresAt'>,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into message_actions (workspace_id, id, line_id, message_id, kind, content, actor_name, due_at, expires_at)
    values (${db.workspaceId}, ${id}, ${lineId}, ${messageId}, ${kind}, ${sql.jsonb(content)}, ${actorName}, ${sql.timestamp(dueAt)},
      ${sql.timestamp(expiresAt)})`);
}

/** Those that are neither done nor failed, in order. */
export async function openActions(db: TenantDb, lineId: string): Promise<readonly ActionRow[]> {
  return db.any(sql.type(ActionRow)`
    select ${COLUMNS} from message_actions
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and status in ('pending', 'calling') order by id`);
}

/** The end of typing that a line has still to show a contact; null: it shows no typing. @returns its id. */
export async function openTyping(
  db: TenantDb,
  { lineId, address }: { lineId: string; address: string },
): Promise<string | null> {
  return db.maybeOneFirst(sql.type(IdRow)`
    select a.id from message_actions a
    join inbound_messages i on i.workspace_id = a.workspace_id and i.id = a.message_id and i.address = ${address}
    where a.workspace_id = ${db.workspaceId} and a.line_id = ${lineId} and a.status = 'pending' and a.kind = 'typing'
      and not (a.content->>'on')::boolean
    order by a.id limit 1`);
}

export async function moveAction(
  db: TenantDb,
  id: string,
  { dueAt, expiresAt }: { dueAt: Date; expiresAt: Date },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update message_actions set due_at = ${sql.timestamp(dueAt)}, expires_at = ${sql.timestamp(expiresAt)}
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'pending'`);
}

/** Whether the contact has been told, or will be, that a message of theirs was read. */
export const hasReadReceipt = (db: TenantDb, messageId: string): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from message_actions
    where workspace_id = ${db.workspaceId} and message_id = ${messageId} and kind = 'read' and status <> 'failed'`);

/** A contact has not got the card of a line, which is shared again after their next message. */
export async function forgetShared(
  db: TenantDb,
  { lineId, address }: { lineId: string; address: string },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update line_contacts set card_shared_at = null
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and address = ${address}`);
}

/** All actions about a message, in order. */
export async function actionsOf(db: TenantDb, messageId: string): Promise<readonly ActionRow[]> {
  return db.any(sql.type(ActionRow)`
    select ${COLUMNS} from message_actions
    where workspace_id = ${db.workspaceId} and message_id = ${messageId} order by id`);
}

const AtRow = z.object({ at: z.date().nullable() });

/** When the call of the last action of a line ended, or began if its end is unknown: how long a call takes shortens no gap. */
export async function lastActionAt(db: TenantDb, lineId: string): Promise<Date | null> {
  return db.oneFirst(sql.type(AtRow)`
    select (
      select greatest(started_at, finished_at) from message_actions
      where workspace_id = ${db.workspaceId} and line_id = ${lineId} and started_at is not null
      order by started_at desc limit 1
    ) at`);
}

/** Committed before the carrier is called, so that a crash repeats nothing. */
export async function startAction(
  db: TenantDb,
  id: string,
  { startedAt, answerBy }: { startedAt: Date; answerBy: Date },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update message_actions set status = 'calling', started_at = ${sql.timestamp(startedAt)}, answer_by = ${sql.timestamp(answerBy)}
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** @returns false if it has ended before. */
export async function endAction(
  db: TenantDb,
  id: string,
  { status, reason, now }: { status: 'done' | 'failed'; reason: string | null; now: Date },
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update message_actions set status = ${status}, reason = ${reason}, finished_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${id} and status in ('pending', 'calling')`);
  return rowCount > 0;
}

export async function postponeAction(db: TenantDb, id: string, dueAt: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update message_actions set status = 'pending', failures = failures + 1, due_at = ${sql.timestamp(dueAt)}
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'calling'`);
}

/** Marks a message of ours as edited. @param text as the contact sees it now. */
export async function markEdited(db: TenantDb, id: string, text: string, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set sent_text = ${text}, edited_at = ${sql.timestamp(now)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

export async function markUnsent(db: TenantDb, id: string, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set unsent_at = ${sql.timestamp(now)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}
