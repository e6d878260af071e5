import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { ConversationCounts } from '#domain/inbox/conversation.ts';
import { IS_ANSWER_TO_BE_SENT, contactWroteLast, isOfStatus } from './conversation-filters.ts';
import { type Reader, unreadOfAll } from './conversation-reads.ts';
import { isListed } from './conversations.ts';
import { isOffered } from '../drafts/ai-drafts.ts';

const CountsRow = z.object({
  open: z.int(),
  mine: z.int(),
  unassigned: z.int(),
  unread: z.int(),
  unanswered: z.int(),
  snoozed: z.int(),
  drafts: z.int(),
  suspected: z.int(),
});

/** The numbers of the views of the inbox, for a user. The open conversations are read once, because they may be very many. */
export async function countConversations(db: TenantDb, reader: Reader): Promise<ConversationCounts> {
  const { now, userId } = reader;
  const listed = isListed(db);
  const isOpen = isOfStatus('open', now);
  const { reads, isUnread } = unreadOfAll(reader);
  return db.one(sql.type(CountsRow)`
    select "open", mine, unassigned, unread, heard_last - (
      select count(*)::int from conversations c where ${listed} and ${contactWroteLast(now)} and ${IS_ANSWER_TO_BE_SENT}
    ) unanswered, (
      select count(*)::int from conversations c where ${listed} and ${isOfStatus('snoozed', now)}
    ) snoozed, (
      select count(*)::int from ai_drafts d where d.workspace_id = ${db.workspaceId} and d.status = 'drafted' and ${isOffered}
    ) drafts, (
      select count(*)::int from opt_out_suspicions where workspace_id = ${db.workspaceId} and status = 'open'
    ) suspected
    from (
      select count(*)::int "open", count(*) filter (where c.assignee_id = ${userId})::int mine,
        count(*) filter (where c.assignee_id is null)::int unassigned,
        count(*) filter (where ${isUnread})::int unread,
        count(*) filter (where ${contactWroteLast(now)})::int heard_last
      from conversations c ${reads} where ${listed} and ${isOpen}
    ) o`);
}
