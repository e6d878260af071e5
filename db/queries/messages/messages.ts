import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { Channel } from '#domain/base/channel.ts';
import { ANSWER_MS } from '#domain/inbox/conversation.ts';
import { groupIdOf } from '#domain/inbox/group.ts';
import { CrmIds, type Message } from '#domain/messages/message.ts';
import {
  type MessageStatus,
  shownStatus,
  StoredStatus,
  storedStatuses,
  waitingStatuses,
} from '#domain/messages/message-status.ts';
import { Effect } from '#domain/messages/effect.ts';
import {
  type AcceptedMessage,
  MEMBER_SOURCES,
  UNWRITTEN_SOURCES,
} from '#domain/messages/accepted-message.ts';
import { shownReactions, StoredReaction } from '#domain/messages/reaction.ts';
import { Transport, transportOf } from '#domain/messages/transport.ts';
import { VariantName } from '#domain/messages/variant-name.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { placesOf } from './group-places.ts';
import { recordset, snakeCase } from '#db/connection/recordset.ts';

/** Whether a message was sent or is being sent, if only as fallback SMS. */
export const IS_DISPATCHED = sql.fragment`(sent_at is not null or status = 'sending' or fallback_sms = 'dispatched')`;
/** When a message was sent, or if not, its fallback SMS. While it is being sent: since when. */
export const DISPATCHED_AT = sql.fragment`coalesce(sent_at, fallback_at, updated_at)`;
/** Whether a message is still to be sent, if only as fallback SMS. */
export const IS_TO_BE_SENT = sql.fragment`(status in ('pending', 'scheduled') or fallback_sms = 'due')`;
/** `isWritten`, of messages. */
export const IS_WRITTEN = sql.fragment`(campaign_id is null and source <> all(${sql.array([...UNWRITTEN_SOURCES], 'text')}))`;
/** When somebody wrote a message: when it was accepted, or when it was sent from the device of a line. */
export const WRITTEN_AT = sql.fragment`least(created_at, ${DISPATCHED_AT})`;

/** `isByMember`, of messages. */
export const IS_BY_MEMBER = sql.fragment`(source = any(${sql.array([...MEMBER_SOURCES], 'text')}))`;

/** Whether a message waits for an operator, because its line cannot send it although it sends others. */
export const IS_SET_ASIDE = sql.fragment`(hold_reason = 'set_aside' and held and status in ('pending', 'scheduled'))`;

export const MessageRow = z.object({
  id: z.string(),
  workspaceId: z.string(),
  arrival: z.int(),
  channel: Channel,
  status: StoredStatus,
  holdReason: z.string().nullable(),
  /** Not in its line's queue yet: its previous step is not sent, or its text is not written. */
  held: z.boolean(),
  /** See `message_joins_queue` in db/migrations/0010_messages.sql. */
  isNew: z.boolean(),
  lineId: z.string().nullable(),
  linePinned: z.boolean(),
  poolId: z.string().nullable(),
  address: z.string(),
  recipientPhone: z.string().nullable(),
  recipientEmail: z.string().nullable(),
  recipientName: z.string().nullable(),
  leadId: z.string().nullable(),
  body: z.string(),
  /** The rendered text, if it differs from the body. */
  sentText: z.string().nullable(),
  subject: z.string().nullable(),
  /** The subject of the email that was sent, if it differs. */
  sentSubject: z.string().nullable(),
  attachmentUrls: z.array(z.string()),
  attachmentNames: z.array(z.string()),
  voiceNote: z.boolean(),
  /** What it answers. */
  replyToId: z.string().nullable(),
  effect: Effect.nullable(),
  cancelIfReply: z.boolean(),
  /** The first of the bubbles that it belongs to. */
  bubbleOf: z.string().nullable(),
  /** Its place among them; null: it is the first, or no bubble. */
  bubble: z.int().nullable(),
  scheduledAt: z.date(),
  windowTimezone: z.string().nullable(),
  windowStart: z.string().nullable(),
  windowEnd: z.string().nullable(),
  windowDays: z.array(z.int()).nullable(),
  recipientZones: z.array(z.string()).nullable(),
  recipientRegion: z.string().nullable(),
  answersUntil: z.date().nullable(),
  sendFallbackSmsOnFailed: z.boolean(),
  smsFallbackEnabled: z.boolean(),
  smsFallbackMessage: z.string().nullable(),
  forceFallback: z.boolean(),
  fallbackSms: z.enum(['due', 'dispatched', 'failed']).nullable(),
  /** When its fallback SMS is due, or was accepted. */
  fallbackAt: z.date().nullable(),
  source: z.string(),
  correlationId: z.string().nullable(),
  traceId: z.string().nullable(),
  batchId: z.string().nullable(),
  stepIndex: z.int().nullable(),
  variant: VariantName.nullable(),
  campaignId: z.string().nullable(),
  /** The version of the campaign's steps whose text it has; null: the first, or it is of no step. */
  campaignVersion: z.int().nullable(),
  crm: CrmIds,
  transientFailures: z.int(),
  carrierMessageId: z.string().nullable(),
  /** As the carrier says; null: it does not. */
  transport: Transport.nullable(),
  sentAt: z.date().nullable(),
  deliveredAt: z.date().nullable(),
  readAt: z.date().nullable(),
  errorMessage: z.string().nullable(),
  createdByUserId: z.string().nullable(),
  editedAt: z.date().nullable(),
  unsentAt: z.date().nullable(),
  reactions: z.array(StoredReaction),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type MessageRow = z.infer<typeof MessageRow>;

/** `lineId` is null if no line of the workspace can send the message. */
export type NewMessage = AcceptedMessage & { lineId: string | null };

/** A message that follows another one. */
export type NewBubble = NewMessage & Pick<MessageRow, 'bubbleOf' | 'bubble' | 'held' | 'holdReason'>;

/** The zones of a message's lead, if it has any: it counts more than those of the number. */
const zonesOf = (db: TenantDb, leadId: ReturnType<typeof sql.fragment>) => sql.fragment`(
  select array[l.timezone] from leads l
  where l.workspace_id = ${db.workspaceId} and l.id = ${leadId} and l.timezone is not null)`;

const InsertedRow = z.object({ id: z.string(), isNew: z.boolean() });

/** `ANSWER_MS` as an interval. It is a literal, so that it adds no parameter to statements. */
export const ANSWER_TIME = sql.fragment`interval ${sql.literalValue(`${ANSWER_MS} milliseconds`)}`;

/**
 * Inserts messages in order; messages that exist are skipped.
 * @returns the ids of the others, with whether they are in a lane of new contacts.
 */
export async function insertMessages(
  db: TenantDb,
  messages: readonly NewMessage[],
  now: Date,
): Promise<ReadonlyMap<string, boolean>> {
  const placeOf = await placesOf(db, messages);
  const rows = messages.map(({ window, pinnedLineId, ...message }, position) => {
    const { zones, region } = placeOf(message);
    return {
      ...message,
      workspaceId: db.workspaceId,
      status: new Date(message.scheduledAt) > now ? 'scheduled' : 'pending',
      linePinned: pinnedLineId !== null,
      windowTimezone: window?.timezone ?? null,
      windowStart: window?.start ?? null,
      windowEnd: window?.end ?? null,
      windowDays: window?.days ?? null,
      recipientZones: zones,
      recipientRegion: region,
      arrival: position,
      // In test mode the time is not the database's.
      ...(db.aheadMs !== null && { createdAt: now }),
    };
  });
  const [first] = rows;
  if (!first) return new Map();
  const columns = Object.keys(first)
    .filter((key) => key !== 'arrival' && key !== 'recipientZones')
    .map(snakeCase);
  const inserted = await db.any(sql.type(InsertedRow)`
    insert into messages (${sql.join(
      columns.map((name) => sql.identifier([name])),
      sql.fragment`, `,
    )}, recipient_zones, answers_until)
    select ${sql.join(
      columns.map((name) => sql.identifier(['m', name])),
      sql.fragment`, `,
    )},
      coalesce(${zonesOf(db, sql.fragment`m.lead_id`)}, m.recipient_zones), (
        select c.last_inbound_at + ${ANSWER_TIME} from conversations c
        where c.workspace_id = ${db.workspaceId} and c.address = m.address)
    from ${recordset('messages', rows)} m
    order by m.arrival
    on conflict (workspace_id, id) do nothing
    returning id, is_new`);
  return new Map(inserted.map(({ id, isNew }) => [id, isNew]));
}

export async function findMessage(db: TenantDb, id: string): Promise<MessageRow | null> {
  return db.maybeOne(sql.type(MessageRow)`
    select * from messages where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Those of these messages that belong to the workspace, in any order. */
export async function findMessages(db: TenantDb, ids: readonly string[]): Promise<readonly MessageRow[]> {
  if (ids.length === 0) return [];
  return db.any(sql.type(MessageRow)`
    select * from messages where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')})`);
}

export interface MessageFilter {
  leadId?: string | undefined;
  lineId?: string | undefined;
  campaignId?: string | undefined;
  status?: MessageStatus | undefined;
  /** Whether it is still to be sent. Ignored with a status. */
  waiting?: boolean | undefined;
  correlationId?: string | undefined;
}

interface MessagePage {
  limit: number;
  /** The id of the last message of the page before. */
  cursor?: string | undefined;
}

const matching = (db: TenantDb, filter: MessageFilter) => [
  sql.fragment`workspace_id = ${db.workspaceId}`,
  filter.leadId !== undefined && sql.fragment`lead_id = ${filter.leadId}`,
  filter.lineId !== undefined && sql.fragment`line_id = ${filter.lineId}`,
  filter.campaignId !== undefined && sql.fragment`campaign_id = ${filter.campaignId}`,
  filter.correlationId !== undefined && sql.fragment`correlation_id = ${filter.correlationId}`,
];

/** Newest first. */
export async function listMessages(
  db: TenantDb,
  filter: MessageFilter,
  { limit, cursor }: MessagePage,
): Promise<MessageRow[]> {
  const newest = (status: StoredStatus | null) => sql.fragment`(
    select * from messages where ${sql.and([
      ...matching(db, filter),
      // A parameter would match no partial index.
      status !== null && sql.fragment`status = ${sql.literalValue(status)}`,
      cursor !== undefined && sql.fragment`id < ${cursor}`,
    ])}
    order by id desc limit ${limit})`;
  // One query per status: no index has several statuses in id order.
  const statuses =
    filter.status !== undefined
      ? storedStatuses(filter.status)
      : filter.waiting !== undefined
        ? waitingStatuses(filter.waiting)
        : [null];
  const rows = await db.any(sql.type(MessageRow)`
    select * from (${sql.join(statuses.map(newest), sql.fragment` union all `)}) found
    order by id desc limit ${limit}`);
  return [...rows];
}

/** Those that have left, the latest first. A message in whose place an SMS was sent has no time of its own. */
export async function listSentMessages(
  db: TenantDb,
  { status, ...filter }: MessageFilter,
  { limit, cursor }: MessagePage,
): Promise<MessageRow[]> {
  const sent = (column: FragmentSqlToken, isSent: FragmentSqlToken) => {
    const last = sql.fragment`(
      select coalesce(sent_at, updated_at) from messages where workspace_id = ${db.workspaceId} and id = ${cursor ?? null})`;
    return sql.fragment`(
      select * from messages where ${sql.and([
        ...matching(db, filter),
        isSent,
        status !== undefined && sql.fragment`status = any(${sql.array(storedStatuses(status), 'text')})`,
        cursor !== undefined &&
          sql.fragment`${column} <= ${last} and (${column} < ${last} or id < ${cursor})`,
      ])}
      order by ${column} desc, id desc limit ${limit})`;
  };
  const rows = await db.any(sql.type(MessageRow)`
    select * from (
      ${sent(sql.fragment`sent_at`, sql.fragment`sent_at is not null`)}
      union all
      ${sent(sql.fragment`updated_at`, sql.fragment`sent_at is null and fallback_sms = 'dispatched'`)}
    ) found
    order by coalesce(sent_at, updated_at) desc, id desc limit ${limit}`);
  return [...rows];
}

/** Cancels a message that is not being sent yet. @returns the message, and whether it was canceled. */
export async function cancelMessage(
  db: TenantDb,
  id: string,
): Promise<{ message: MessageRow | null; canceled: boolean }> {
  const canceled = await db.maybeOne(sql.type(MessageRow)`
    update messages set status = 'canceled', hold_reason = null, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id} and status in ('pending', 'scheduled')
    returning *`);
  return canceled
    ? { message: canceled, canceled: true }
    : { message: await findMessage(db, id), canceled: false };
}

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;

export function presentMessage(row: MessageRow): Message {
  return {
    _id: row.id,
    workspaceId: row.workspaceId,
    message: row.sentText ?? row.body,
    messageType: row.channel,
    subject: row.sentSubject ?? row.subject,
    status: shownStatus(row.status),
    holdReason: row.holdReason,
    fromLineId: row.lineId,
    poolId: row.poolId,
    recipientPhone: row.recipientPhone,
    recipientEmail: row.recipientEmail,
    recipientName: row.recipientName,
    leadId: row.leadId,
    groupId: groupIdOf(row.address),
    createdByUserId: row.createdByUserId,
    attachmentUrls: row.attachmentUrls,
    attachmentNames: row.attachmentNames,
    voiceNote: row.voiceNote,
    replyToMessageId: row.replyToId,
    effect: row.effect,
    cancelIfReply: row.cancelIfReply,
    bubbleOf: row.bubbleOf,
    fallbackSmsDispatched: row.fallbackSms === 'dispatched',
    source: row.source,
    correlationId: row.correlationId,
    traceId: row.traceId,
    scheduledDate: iso(row.scheduledAt),
    batchId: row.batchId,
    stepIndex: row.stepIndex,
    variant: row.variant,
    campaignId: row.campaignId,
    errorMessage: row.errorMessage,
    transport: transportOf(row),
    sentAt: iso(row.sentAt),
    deliveredAt: iso(row.deliveredAt),
    readAt: iso(row.readAt),
    editedAt: iso(row.editedAt),
    unsentAt: iso(row.unsentAt),
    reactions: shownReactions(row.reactions),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    ...row.crm,
  };
}
