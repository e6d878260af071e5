import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { IS_WRITTEN } from '../messages/messages.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { firstId } from '#domain/base/ids.ts';
import { REPLY_TEXT } from '#domain/campaigns/judge.ts';
import { AUTOPILOT } from '#domain/drafts/autopilot.ts';
import type { RuleTrigger } from '#domain/inbox/rule.ts';

/** What happened before there was a rule about it. */
const HappenedRow = z.object({
  at: z.date(),
  address: z.string(),
  /** What the contact wrote; null: it is about no message. */
  text: z.string().nullable(),
});
export type Happened = z.infer<typeof HappenedRow>;

interface Range {
  since: Date;
  now: Date;
  /** The latest are found. */
  limit: number;
}

/** What has happened since a time, in order of time. @param afterMs of `no_answer_for`. @param tags of `tag_added`, in lower case. */
export async function pastHappenings(
  db: TenantDb,
  { on, afterMs, tags }: { on: RuleTrigger; afterMs: number; tags: readonly string[] },
  range: Range,
): Promise<readonly Happened[]> {
  switch (on) {
    case 'reply':
      return replies(db, sql.fragment`true`, range);
    case 'conversation_opened':
      return replies(
        db,
        sql.fragment`not exists (
          select from inbound_messages f
          where f.workspace_id = ${db.workspaceId} and f.address = i.address and f.id < i.id and not f.auto_reply and f.warning is null)`,
        range,
      );
    case 'missed_call':
      return missedCalls(db, range);
    case 'tag_added':
      return addedTags(db, tags, range);
    case 'draft':
      return drafts(db, range);
    case 'no_answer_for':
      return unanswered(db, afterMs, range);
  }
}

const heard = (db: TenantDb, { since, limit }: Range, condition: FragmentSqlToken) => sql.fragment`
  select i.id, i.received_at "at", i.address, left(i.body, ${REPLY_TEXT}) "text" from inbound_messages i
  where i.workspace_id = ${db.workspaceId} and i.id >= ${firstId(since)} and not i.auto_reply and i.warning is null
    and i.keyword is distinct from 'stop' and not starts_with(i.address, 'erased:') and ${condition}
  order by i.id desc limit ${limit}`;

const replies = (db: TenantDb, condition: FragmentSqlToken, range: Range): Promise<readonly Happened[]> =>
  db.any(sql.type(HappenedRow)`
    select "at", address, "text" from (${heard(db, range, condition)}) h order by "at", id`);

async function missedCalls(db: TenantDb, { since, limit }: Range): Promise<readonly Happened[]> {
  const calls = await db.any(sql.type(HappenedRow)`
    select "at", address, null "text" from (
      select c.id, c.ended_at "at", c.from_number address from calls c
      where c.workspace_id = ${db.workspaceId} and c.id >= ${firstId(since)} and c.status = 'failed' and c.answered_at is null
        and c.from_number like '+%' and not exists (
          select from lines l where l.workspace_id = ${db.workspaceId} and l.phone = c.from_number)
      order by c.id desc limit ${limit}
    ) missed order by "at", id`);
  return calls.map((call) => ({ ...call, address: contactKey(call.address) }));
}

const addedTags = (
  db: TenantDb,
  tags: readonly string[],
  { since, limit }: Range,
): Promise<readonly Happened[]> =>
  db.any(sql.type(HappenedRow)`
    select "at", address, null "text" from (
      select t.id, t.added_at "at", t.address from added_tags t
      where t.workspace_id = ${db.workspaceId} and t.id >= ${firstId(since)}
        and (${tags.length === 0} or t.tags && ${sql.array([...tags], 'text')})
      order by t.id desc limit ${limit}
    ) added order by "at", id`);

const drafts = (db: TenantDb, { since, limit }: Range): Promise<readonly Happened[]> =>
  db.any(sql.type(HappenedRow)`
    select "at", address, "text" from (
      select d.reply_id id, d.created_at "at", d.address, left(i.body, ${REPLY_TEXT}) "text" from ai_drafts d
      left join inbound_messages i
        on i.workspace_id = ${db.workspaceId} and i.id = coalesce(d.answered_reply_id, d.reply_id)
      where d.workspace_id = ${db.workspaceId} and d.reply_id >= ${firstId(since)} and d.draft is not null
        and d.resolved_by is distinct from ${AUTOPILOT}
      order by d.reply_id desc limit ${limit}
    ) made order by "at", id`);

const WaitRow = HappenedRow.extend({ answeredBefore: z.date().nullable(), answeredAt: z.date().nullable() });

/** The times at which the first message since an answer was not answered for so long. */
async function unanswered(db: TenantDb, afterMs: number, range: Range): Promise<readonly Happened[]> {
  const answers = sql.fragment`
    from messages m
    where m.workspace_id = ${db.workspaceId} and m.address = h.address and m.sent_at is not null and ${IS_WRITTEN}`;
  const rows = await db.any(sql.type(WaitRow)`
    select h."at", h.address, h."text", (select max(m.sent_at) ${answers} and m.sent_at < h."at") answered_before,
      (select min(m.sent_at) ${answers} and m.sent_at >= h."at") answered_at
    from (${heard(db, range, sql.fragment`true`)}) h order by h."at", h.id`);
  const waits = new Map<string, z.infer<typeof WaitRow>>();
  for (const row of rows) {
    const wait = `${row.address} ${row.answeredBefore?.toISOString() ?? ''}`;
    if (!waits.has(wait)) waits.set(wait, row);
  }
  return [...waits.values()].flatMap(({ at: since, address, text, answeredAt }) => {
    const at = new Date(since.getTime() + afterMs);
    return at <= (answeredAt ?? range.now) ? [{ at, address, text }] : [];
  });
}
