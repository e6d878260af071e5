import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import { conversationWith } from '../inbox/conversations.ts';
import { ANSWER_TIME } from './messages.ts';

const StandingRow = z.object({ isFirst: z.boolean(), unanswered: z.int() });

/**
 * The relation of a contact to a line: whether the line has never exchanged a message with them, and how many messages in a row,
 * of any line, they have not answered. @param lineId null: the line is not chosen yet.
 */
export async function contactRelation(
  db: TenantDb,
  lineId: string | null,
  address: string,
): Promise<z.infer<typeof StandingRow>> {
  return db.one(sql.type(StandingRow)`
    select
      not exists (select from line_contacts
        where workspace_id = ${db.workspaceId} and line_id = ${lineId} and address = ${address}) is_first,
      coalesce((select unanswered from conversations
        where workspace_id = ${db.workspaceId} and address = ${address}), 0) unanswered`);
}

const AnswerRow = z.object({ address: z.string(), answersUntil: z.date() });

/** Until when messages to these contacts are answers to their replies, by address. */
export async function answerTimes(db: TenantDb, addresses: ReadonlySet<string>): Promise<Map<string, Date>> {
  const rows = await db.any(sql.type(AnswerRow)`
    select a.address, c.last_inbound_at + ${ANSWER_TIME} answers_until
    from unnest(${sql.array([...addresses], 'text')}) as a (address)
    cross join ${conversationWith(db, sql.fragment`a.address`)}
    where c.last_inbound_at is not null`);
  return new Map(rows.map(({ address, answersUntil }) => [address, answersUntil]));
}
