import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { ThreadItem } from '#domain/inbox/conversation.ts';
import { SHOWN_LENGTH, shownReply } from '#domain/inbox/reply.ts';
import { SenderAuthentication, SenderWarning } from '#domain/lines/sender-authentication.ts';
import { mediaTypeOf } from '#domain/messages/attachment-type.ts';
import type { FileLinks, LinkReader } from '#domain/messages/attachment.ts';
import { Effect } from '#domain/messages/effect.ts';
import { shownStatus, StoredStatus } from '#domain/messages/message-status.ts';
import { shownReactions, StoredReaction } from '#domain/messages/reaction.ts';
import { inboundFiles, uploadFacts } from '../messages/attachments.ts';
import { shownText } from './replies.ts';

const ThreadRow = z.object({
  id: z.string(),
  address: z.string(),
  direction: z.enum(['in', 'out']),
  participant: z.string().nullable(),
  body: z.string(),
  sentText: z.string().nullable(),
  at: z.date(),
  lineId: z.string().nullable(),
  leadId: z.string().nullable(),
  campaignId: z.string().nullable(),
  status: StoredStatus.nullable(),
  deliveredAt: z.date().nullable(),
  readAt: z.date().nullable(),
  errorMessage: z.string().nullable(),
  voiceNote: z.boolean(),
  autoReply: z.boolean(),
  subject: z.string().nullable(),
  warning: SenderWarning.nullable(),
  authentication: SenderAuthentication.nullable(),
  originalMessageId: z.string().nullable(),
  replyToId: z.string().nullable(),
  effect: Effect.nullable(),
  attachmentUrls: z.array(z.string()),
  attachmentNames: z.array(z.string()),
  reactions: z.array(StoredReaction),
  editedAt: z.date().nullable(),
  unsentAt: z.date().nullable(),
  isShortened: z.boolean(),
  transcript: z.string().nullable(),
});
export type ThreadRow = z.infer<typeof ThreadRow>;

// A cursor has milliseconds: with a finer sort key, rows would be skipped or repeated.
export const SENT_AT = sql.fragment`date_trunc('milliseconds', coalesce(sent_at, scheduled_at))`;
export const RECEIVED_AT = sql.fragment`date_trunc('milliseconds', received_at)`;

const OUT = sql.fragment`
  select id, address, 'out' direction, null participant, body, sent_text, ${SENT_AT} "at", line_id, lead_id, campaign_id, status, delivered_at, read_at, error_message, voice_note,
    false auto_reply, coalesce(sent_subject, subject) subject, null warning, null::jsonb authentication, null original_message_id, reply_to_id, effect, attachment_urls, attachment_names, reactions,
    edited_at, unsent_at, false is_shortened, null transcript
  from messages`;
const IN = sql.fragment`
  select id, address, 'in' direction, participant, left(body, ${SHOWN_LENGTH}) body, null sent_text, ${RECEIVED_AT} "at", line_id, lead_id, campaign_id, null status,
    null::timestamptz delivered_at, null::timestamptz read_at, null error_message, false voice_note,
    auto_reply, subject, warning, authentication, original_message_id, reply_to_id, null effect, '{}'::text[] attachment_urls, '{}'::text[] attachment_names, reactions,
    edited_at, unsent_at, whole_text is not null or length(body) > ${SHOWN_LENGTH} is_shortened, transcript
  from inbound_messages`;

/** Messages in both directions, newest first, starting after the position `after`; scheduled ones by their scheduled time. */
export async function listThread(
  db: TenantDb,
  address: string,
  { limit, after }: { limit: number; after: { at: Date; key: string } | null },
): Promise<ThreadRow[]> {
  const before = (at: typeof SENT_AT) =>
    after ? sql.fragment`and (${at}, id) < (${sql.timestamp(after.at)}, ${after.key})` : sql.fragment``;
  const rows = await db.any(sql.type(ThreadRow)`
    (${OUT} where workspace_id = ${db.workspaceId} and address = ${address} and status <> 'canceled' ${before(SENT_AT)}
    order by "at" desc, id desc limit ${limit})
    union all
    (${IN} where workspace_id = ${db.workspaceId} and address = ${address} ${before(RECEIVED_AT)}
    order by "at" desc, id desc limit ${limit})
    order by "at" desc, id desc limit ${limit}`);
  return [...rows];
}

/** Messages in both directions by their ids, in any order. */
export async function findThreadItems(db: TenantDb, ids: readonly string[]): Promise<readonly ThreadRow[]> {
  if (ids.length === 0) return [];
  const wanted = sql.fragment`workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')})`;
  return db.any(sql.type(ThreadRow)`${OUT} where ${wanted} union all ${IN} where ${wanted}`);
}

export async function presentThread(
  db: TenantDb,
  rows: readonly ThreadRow[],
  links: FileLinks & LinkReader,
  now: Date,
): Promise<ThreadItem[]> {
  const received = await inboundFiles(
    db,
    rows.filter(({ direction }) => direction === 'in').map(({ id }) => id),
    links,
    now,
  );
  const uploads = await uploadFacts(
    db,
    rows.flatMap(({ attachmentUrls }) => attachmentUrls),
    links,
  );
  return rows.map((row) => {
    const files = received.get(row.id);
    const urls = files?.shown.attachmentDownloadUrls ?? row.attachmentUrls;
    const names = files?.shown.attachmentNames ?? row.attachmentNames;
    return {
      messageId: row.id,
      direction: row.direction,
      participant: row.participant,
      message: row.direction === 'in' ? shownReply(row.body) : row.unsentAt === null ? shownText(row) : '',
      at: row.at.toISOString(),
      lineId: row.lineId,
      campaignId: row.campaignId,
      status: row.status && shownStatus(row.status),
      deliveredAt: row.deliveredAt?.toISOString() ?? null,
      readAt: row.readAt?.toISOString() ?? null,
      errorMessage: row.errorMessage,
      voiceNote: row.voiceNote,
      autoReply: row.autoReply,
      subject: row.subject,
      warning: row.warning,
      authentication: row.authentication,
      originalMessageId: row.originalMessageId,
      replyToMessageId: row.replyToId,
      effect: row.effect,
      attachmentUrls: urls,
      attachmentNames: names,
      attachments: urls.map((url, index) => {
        const name = names[index] || links.openUnverified(url)?.name || 'attachment';
        const facts = files?.facts[index] ?? uploads.get(url);
        return {
          url,
          name,
          contentType: facts?.contentType ?? mediaTypeOf(name),
          size: facts?.size ?? null,
        };
      }),
      reactions: shownReactions(row.reactions),
      editedAt: row.editedAt?.toISOString() ?? null,
      unsentAt: row.unsentAt?.toISOString() ?? null,
      isShortened: row.isShortened,
      transcript: row.unsentAt === null ? row.transcript : null,
    };
  });
}
