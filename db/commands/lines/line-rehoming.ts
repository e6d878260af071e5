import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { CARRYING_CHANNELS } from '#domain/message-draft.ts';
import { wakeLines } from '#db/commands/campaigns/campaign-entry.ts';
import { type Choosable, chooseLines } from '#db/commands/sending/line-choice.ts';
import { lockLinesShared, usableLines } from '#db/queries/lines.ts';
import { MessageRow } from '#db/queries/messages.ts';
import { NoRows } from '#db/rows.ts';
import type { SystemDb, TenantDb } from '#db/transactions.ts';

const Unsent = MessageRow.pick({ id: true, channel: true, address: true, scheduledAt: true }).extend({
  arrival: z.int(),
  eligibleLineIds: z.array(z.string()).nullable(),
  stickinessPolicy: z.enum(['sticky', 'round_robin']),
});

type Unsent = z.infer<typeof Unsent>;

const CHUNK = 5000;

const Queue = z.object({ workspaceId: z.string(), lineId: z.string() });

/**
 * The lines that have messages waiting and are no longer in their workspace. None is expected: a line leaves only with
 * its queue rehomed. One look into the index for each line that has a queue, however long the queues are.
 */
export async function strandedQueues(db: SystemDb): Promise<z.infer<typeof Queue>[]> {
  const queued = (waiting: FragmentSqlToken) => sql.fragment`(
    with recursive queues as (
      (select workspace_id, line_id from messages where ${waiting}
        order by workspace_id, line_id limit 1)
      union all
      select next.* from queues q cross join lateral (
        select workspace_id, line_id from messages
        where ${waiting} and (workspace_id, line_id) > (q.workspace_id, q.line_id)
        order by workspace_id, line_id limit 1
      ) next
    ) select * from queues)`;
  const rows = await db.any(sql.type(Queue)`
    select q.workspace_id, q.line_id from (
      ${queued(sql.fragment`status in ('pending', 'scheduled') and not held and line_id is not null`)}
      union
      ${queued(sql.fragment`fallback_sms = 'due' and line_id is not null`)}
    ) q
    where not exists (select from lines l where l.workspace_id = q.workspace_id and l.id = q.line_id)`);
  return [...rows];
}

/** What is still to leave through a line, fallbacks that are owed included. */
const unsentOf = (db: TenantDb, lineId: string | null) => sql.fragment`
  workspace_id = ${db.workspaceId} and line_id is not distinct from ${lineId}
  and (status in ('pending', 'scheduled') or fallback_sms = 'due')`;

/** A line leaves its workspace: its contacts have none until they get another, and its messages leave by others. */
export async function abandonLine(db: TenantDb, lineId: string): Promise<void> {
  await lockAtLine(db, unsentOf(db, lineId), sql.fragment`or line_id = ${lineId}`);
  await db.query(sql.type(NoRows)`
    update conversations set line_id = null where workspace_id = ${db.workspaceId} and line_id = ${lineId}`);
  await rehomeMessages(db, lineId);
}

/**
 * Gives the messages that were to leave through a line to other lines of their workspace, as if they came in now:
 * the line left it, or (null) there was none that could carry them. Their times and their order stay. A line that
 * was named by the caller, or the only eligible one, is no longer insisted on: the message is to be sent.
 * Fallbacks that are owed follow too, since it is a line's pacer that sends them.
 * @param options.keepPinned the line is still there, only not sending: what insists on it waits for it.
 */
export async function rehomeMessages(
  db: TenantDb,
  lineId: string | null,
  { keepPinned = false }: { keepPinned?: boolean } = {},
): Promise<void> {
  const unsent = unsentOf(db, lineId);
  const waiting = await lockAtLine(db, keepPinned ? sql.fragment`${unsent} and not line_pinned` : unsent);
  if (waiting.length === 0) return;
  const usable = await usableLines(db);
  const isUsable = ({ channel, eligibleLineIds }: Unsent): boolean =>
    usable.some(
      (line) =>
        CARRYING_CHANNELS[channel].includes(line.channel) && (eligibleLineIds?.includes(line.id) ?? true),
    );

  for (let start = 0; start < waiting.length; start += CHUNK) {
    const chunk = waiting.slice(start, start + CHUNK).map((message) => ({
      ...message,
      pinnedLineId: null,
      eligibleLineIds: keepPinned || isUsable(message) ? message.eligibleLineIds : null,
    }));
    const chosen = await chooseLines<Choosable & (typeof chunk)[number]>(db, chunk);
    await db.query(sql.type(NoRows)`
      update messages m set line_id = v.line_id, line_pinned = false, updated_at = now()
      from ${sql.unnest(
        chosen.map(({ id, lineId: line }) => [id, line]),
        ['text', 'text'],
      )} as v (id, line_id)
      where m.workspace_id = ${db.workspaceId} and m.id = v.id`);
    wakeLines(db, chosen);
  }
}

/**
 * Locks what rehoming may change, in the order of docs/architecture.md: the lines that may take over, the contacts'
 * conversations, the messages.
 * @returns the messages, in the order in which they are to leave.
 */
async function lockAtLine(
  db: TenantDb,
  messages: FragmentSqlToken,
  orConversations: FragmentSqlToken = sql.fragment``,
): Promise<Unsent[]> {
  const lines = await usableLines(db);
  await lockLinesShared(
    db,
    lines.map(({ id }) => id),
  );
  await db.query(sql.type(NoRows)`
    select from conversations where workspace_id = ${db.workspaceId}
      and (address in (select address from messages where ${messages}) ${orConversations})
    order by address for no key update`);
  const rows = await db.any(sql.type(Unsent)`
    select id, channel, address, scheduled_at, arrival, eligible_line_ids, stickiness_policy from messages
    where ${messages} order by id for no key update`);
  return rows.toSorted((a, b) => a.scheduledAt.getTime() - b.scheduledAt.getTime() || a.arrival - b.arrival);
}
