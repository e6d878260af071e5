import { containsText, patternOf, searchForm } from '#db/queries/base/search.ts';
import { type FragmentSqlToken, sql } from 'slonik';
import { inIndexOrder } from '#db/connection/index-order.ts';
import { AddressRow, CountRow } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { type ConversationFilters, type ConversationStatus, MAX_UNREAD } from '#domain/inbox/conversation.ts';
import { digitsSearched } from '#domain/base/phone.ts';
import { isOffered } from '../drafts/ai-drafts.ts';
import { isUnread, type Reader } from './conversation-reads.ts';
import { ACTIVE_AT, isListed } from './conversations.ts';
import { addressesOfLeads } from '../contacts/leads.ts';
import { IS_TO_BE_SENT, IS_WRITTEN } from '../messages/messages.ts';

/** How many of the latest rows of one kind are searched or counted. */
const MAX_SEARCHED = 5000;
/** Of each text, so that the longest cost no more than others. PostgreSQL reads no more of a long text than this. */
const SEARCHED_CHARACTERS = 2000;
/** How many addresses one kind of match may add. */
const MAX_FOUND = 500;

/** Worded like the predicates of the partial indexes. */
export const isOfStatus = (status: ConversationStatus, now: Date): FragmentSqlToken => {
  switch (status) {
    case 'open':
      return sql.fragment`c.status <> 'closed' and (c.status = 'open' or c.snoozed_until <= ${sql.timestamp(now)})`;
    case 'snoozed':
      return sql.fragment`c.status = 'snoozed' and c.snoozed_until > ${sql.timestamp(now)}`;
    case 'closed':
      return sql.fragment`c.status = 'closed'`;
  }
};

/** The conditions that conversations `c` must all meet. @param assignee the id of a user instead of `me`. */
export async function conditionsOf(
  db: TenantDb,
  { status, assignee, tag, unread, unanswered, drafted, line, q }: ConversationFilters,
  reader: Reader,
): Promise<FragmentSqlToken[]> {
  const conditions: (FragmentSqlToken | false)[] = [
    status !== undefined && isOfStatus(status, reader.now),
    assignee === 'none' && sql.fragment`c.assignee_id is null`,
    assignee !== undefined && assignee !== 'none' && sql.fragment`c.assignee_id = ${assignee}`,
    tag !== undefined &&
      sql.fragment`c.tags <> '{}' and exists (select from unnest(c.tags) tag where lower(tag) = lower(${tag}))`,
    unread === 'true' && unreadSince(reader),
    unread === 'false' && sql.fragment`${isUnread(reader)} is not true`,
    unanswered === 'true' && isUnanswered(reader.now),
    unanswered === 'false' && sql.fragment`(${isUnanswered(reader.now)}) is not true`,
    drafted === 'true' && isDrafted,
    drafted === 'false' && sql.fragment`not ${isDrafted}`,
    line !== undefined && sql.fragment`c.line_id = ${line}`,
    q !== undefined && sql.fragment`c.address = any(${sql.array(await addressesMatching(db, q), 'text')})`,
  ];
  return conditions.filter((condition) => condition !== false);
}

/** The contact wrote last, if no answer is still to be sent. Worded like the predicate of the index. */
export const contactWroteLast = (now: Date): FragmentSqlToken => sql.fragment`
  ${isOfStatus('open', now)} and c.last_inbound_at > coalesce(c.answered_at, '-infinity')`;

const ANSWERS = sql.fragment`
  select from messages m
  where m.workspace_id = c.workspace_id and m.address = c.address and m.created_at >= c.last_inbound_at
    and ${IS_TO_BE_SENT} and ${IS_WRITTEN}`;
export const IS_ANSWER_TO_BE_SENT = sql.fragment`exists (${ANSWERS})`;

/**
 * The contact wrote last. An answer counts from its acceptance, for as long as it is to be sent, and from then on if it was.
 * `offset 0` has the messages of each conversation looked up.
 */
const isUnanswered = (now: Date): FragmentSqlToken =>
  sql.fragment`${contactWroteLast(now)} and not exists (${ANSWERS} offset 0)`;

const isDrafted = sql.fragment`exists (
  select from ai_drafts d
  where d.workspace_id = c.workspace_id and d.address = c.address and d.status = 'drafted' and ${isOffered})`;

/** Nothing older than `since` is unread, so older conversations are not looked at. */
const unreadSince = (reader: Reader): FragmentSqlToken =>
  sql.fragment`${ACTIVE_AT} > ${sql.timestamp(reader.since)} and ${isUnread(reader)}`;

/**
 * The addresses of conversations whose contact, address or recent texts contain a text. Names come from leads and from
 * messages, because a contact without a lead has the name in its messages.
 */
async function addressesMatching(db: TenantDb, q: string): Promise<string[]> {
  const digits = digitsSearched(q);
  const form = searchForm(sql.fragment`text`);
  const beginning = (text: FragmentSqlToken): FragmentSqlToken =>
    sql.fragment`left(${text}, ${SEARCHED_CHARACTERS})`;
  const newest = (rows: FragmentSqlToken, searched = form): FragmentSqlToken => sql.fragment`(
    select address from (${rows} limit ${MAX_SEARCHED}) newest
    where ${searched} like ${patternOf(q)} limit ${MAX_FOUND})`;
  // Text and name together, because each comparison takes as long as the reading of a row.
  const sent = sql.fragment`
    select address, concat_ws(chr(10), ${beginning(sql.fragment`coalesce(sent_text, body)`)}, recipient_name) text from messages`;
  // Each in the order of its index.
  const dispatched = [
    sql.fragment`${sent} where workspace_id = ${db.workspaceId} and sent_at is not null order by sent_at desc`,
    sql.fragment`${sent} where workspace_id = ${db.workspaceId} and fallback_sms = 'dispatched' order by fallback_at desc`,
  ];
  const search = sql.type(AddressRow)`
    ${newest(
      sql.fragment`select address, body, search_text from inbound_messages
        where workspace_id = ${db.workspaceId} and not auto_reply order by received_at desc, id desc`,
      // Nearly all have the first.
      sql.fragment`coalesce(search_text, ${searchForm(beginning(sql.fragment`body`))})`,
    )}
    union ${sql.join(
      dispatched.map((rows) => newest(rows)),
      sql.fragment` union `,
    )}
    union ${newest(
      sql.fragment`select address, ${beginning(sql.fragment`text`)} text from conversation_notes
        where workspace_id = ${db.workspaceId} order by id desc`,
    )}
    union (
      select address from (
        select c.address from conversations c where ${isListed(db)} order by ${ACTIVE_AT} desc limit ${MAX_SEARCHED}
      ) newest
      where ${containsText(sql.fragment`address`, q)}
        ${digits === null ? sql.fragment`` : sql.fragment`or address like ${patternOf(digits)}`}
      limit ${MAX_FOUND})`;
  const found = await inIndexOrder(db, () => db.anyFirst(search));
  db.signal?.throwIfAborted();
  const ofLeads = await addressesOfLeads(db, q, MAX_FOUND);
  db.signal?.throwIfAborted();
  return [...new Set([...found, ...ofLeads])];
}

/** How many open conversations are unread, up to `MAX_UNREAD`, among the last active. */
export async function countUnread(db: TenantDb, reader: Reader): Promise<number> {
  return db.oneFirst(sql.type(CountRow)`
    select count(*)::int count from (
      select from (
        select c.* from conversations c
        where ${isListed(db)} and ${isOfStatus('open', reader.now)} and ${ACTIVE_AT} > ${sql.timestamp(reader.since)}
        order by ${ACTIVE_AT} desc limit ${MAX_SEARCHED}
      ) c
      where ${isUnread(reader)} limit ${MAX_UNREAD}
    ) unread`);
}
