import { sql } from 'slonik';
import { z } from 'zod';
import type { FileLinks } from '#domain/messages/attachment.ts';
import { crmEcho } from '#domain/events/base.ts';
import type { EventPayload } from '#domain/events/payloads.ts';
import { CrmIds } from '#domain/messages/message.ts';
import { shownReply } from '#domain/inbox/reply.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { presentLead } from '#db/queries/contacts/leads.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { InboundRow, presentReplies, type ReplyInContext, shownText } from '#db/queries/inbox/replies.ts';

/** How long the event of a reply waits for the first attempt to fetch its files. */
const MAX_WAIT_SECONDS = 10;
const BATCH = 100;

/**
 * Emits the event of each reply that is ready, once, with the files that are stored by then.
 * @param waits whether it waits for its files; default: true.
 */
export async function emitReplyEvents(
  db: TenantDb,
  { replyId, links, now, waits = true }: { replyId?: string; links: FileLinks; now: Date; waits?: boolean },
): Promise<void> {
  const ready = await db.any(sql.type(InboundRow)`
    select i.* from inbound_messages i where ${sql.and([
      sql.fragment`i.workspace_id = ${db.workspaceId} and i.announced_at is null and not i.auto_reply`,
      replyId !== undefined && sql.fragment`i.id = ${replyId}`,
    ])} and (
      ${!waits} or i.created_at < ${sql.timestamp(now)} - make_interval(secs => ${MAX_WAIT_SECONDS})
      or not exists (
        select from attachments a where a.workspace_id = ${db.workspaceId} and a.inbound_message_id = i.id
          and a.status = 'waiting' and a.tries = 0)
    )
    order by i.id limit ${BATCH} for update ${waits ? sql.fragment`skip locked` : sql.fragment``}`);
  if (ready.length === 0) return;
  const replies = await presentReplies(db, ready, links, now);
  const origins = await originsOf(db, ready);
  await db.query(sql.type(NoRows)`
    update inbound_messages set announced_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = any(${sql.array(
      ready.map(({ id }) => id),
      'text',
    )})`);
  const events = replies.map((reply) => replyPayload(reply, origins.get(reply.row.id), links, now));
  await emitEvents(db, events, now);
}

const OriginRow = z.object({
  replyId: z.string(),
  body: z.string(),
  sentText: z.string().nullable(),
  crm: CrmIds,
  campaignName: z.string().nullable(),
});
type OriginRow = z.infer<typeof OriginRow>;

/** For each reply, the message it answers and its campaign. */
async function originsOf(db: TenantDb, rows: readonly InboundRow[]): Promise<Map<string, OriginRow>> {
  const origins = await db.any(sql.type(OriginRow)`
    select i.id reply_id, m.body, m.sent_text, m.crm, c.name campaign_name
    from inbound_messages i
    join messages m on m.workspace_id = i.workspace_id and m.id = i.original_message_id
    left join campaigns c on c.workspace_id = i.workspace_id and c.id = i.campaign_id
    where i.workspace_id = ${db.workspaceId} and i.id = any(${sql.array(
      rows.map(({ id }) => id),
      'text',
    )})`);
  return new Map(origins.map((origin) => [origin.replyId, origin]));
}

/** The body of `message.reply`. */
function replyPayload(
  { row, reply, lead, files }: ReplyInContext,
  origin: OriginRow | undefined,
  links: FileLinks,
  now: Date,
): EventPayload<'message.reply'> {
  return {
    event: 'message.reply',
    timestamp: now.toISOString(),
    workspaceId: row.workspaceId,
    messageId: row.id,
    ...(lead && {
      leadId: lead.id,
      firstName: lead.firstName,
      lastName: lead.lastName,
      ...(lead.phones[0] !== undefined && { phone: lead.phones[0] }),
      listId: lead.listId,
      lead: presentLead(lead),
    }),
    ...(row.campaignId !== null && { campaignId: row.campaignId }),
    ...(origin && origin.campaignName !== null && { campaignName: origin.campaignName }),
    ...crmEcho(origin?.crm ?? {}),
    fromLineId: row.lineId,
    recipientName: reply.name,
    repliedAtUtc: reply.respondedAtUtc,
    ...(row.subject !== null && { subject: row.subject }),
    ...(row.warning !== null && { warning: row.warning }),
    ...(reply.group && { group: reply.group }),
    message: shownReply(row.body),
    parentMessages: reply.parentMessages,
    ...(reply.attachmentDownloadUrls && { attachmentDownloadUrls: reply.attachmentDownloadUrls }),
    ...(reply.attachmentNames && { attachmentNames: reply.attachmentNames }),
    ...(files.length > 0 && { attachmentUrls: files.map((file) => links.raw(file)) }),
    ...(row.originalMessageId !== null && { originalMessageId: row.originalMessageId }),
    ...(origin && { originalMessage: shownText(origin) }),
    data: { reply },
  };
}
