import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { DraftRow } from './ai-drafts.ts';
import { AUTOPILOT, type Judged } from '#domain/drafts/autopilot.ts';
import { MEMBER_SOURCES } from '#domain/messages/accepted-message.ts';
import { DEFAULT_KNOWLEDGE_BASE, KnowledgeBase } from '#domain/drafts/knowledge-base.ts';

const SettingsRow = KnowledgeBase.pick({ mode: true, autopilot: true, disclosure: true });

export async function autopilotOf(db: TenantDb): Promise<z.output<typeof SettingsRow>> {
  const found = await db.maybeOne(sql.type(SettingsRow)`
    select mode, autopilot, disclosure from knowledge_bases where workspace_id = ${db.workspaceId}`);
  return found ?? DEFAULT_KNOWLEDGE_BASE;
}

/** As a literal, for the index. */
const IS_SENT = (db: TenantDb) =>
  sql.fragment`workspace_id = ${db.workspaceId} and resolved_by = ${sql.literalValue(AUTOPILOT)}`;

const FactsRow = z.object({
  sentToday: z.int(),
  sentInConversation: z.int(),
  isTakenOver: z.boolean(),
  texts: z.array(z.string()),
});

/**
 * What the limits of the autopilot count, and what the contact wrote since the last answer, with the reply that the draft answers: a message
 * may have left after the contact wrote it, and carriers have clocks of their own.
 * @param today when the day began.
 */
export async function autopilotFacts(
  db: TenantDb,
  { address, replyId }: Pick<DraftRow, 'address' | 'replyId'>,
  today: Date,
): Promise<Omit<Judged, 'draft' | 'timezone'>> {
  return db.one(sql.type(FactsRow)`
    with conversation as (
      select coalesce(closed_at, '-infinity') closed_at, coalesce(last_outbound_at, '-infinity') answered_at from conversations
      where workspace_id = ${db.workspaceId} and address = ${address}
    )
    select
      (select count(*)::int from ai_drafts where ${IS_SENT(db)} and resolved_at >= ${sql.timestamp(today)}) sent_today,
      (select count(*)::int from ai_drafts where ${IS_SENT(db)} and address = ${address} and resolved_at > c.closed_at)
        sent_in_conversation,
      exists (
        select from messages m where m.workspace_id = ${db.workspaceId} and m.address = ${address}
          and m.source = any(${sql.array([...MEMBER_SOURCES], 'text')}) and m.created_at > c.closed_at and m.status <> 'canceled') is_taken_over,
      array(
        select left(concat_ws(E'\\n', nullif(i.body, ''), i.transcript), 4000) from inbound_messages i
        where i.workspace_id = ${db.workspaceId} and i.address = ${address} and not i.auto_reply
          and (i.received_at > c.answered_at or i.id = ${replyId})
        order by (i.id = ${replyId}) desc, i.received_at desc limit 10) texts
    from conversation c`);
}

/** Whether the autopilot has written to a contact before. */
export async function hasAutopilotWritten(db: TenantDb, address: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select 1 from ai_drafts where ${IS_SENT(db)} and address = ${address}`);
}
