import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { CARRYING_CHANNELS } from '#domain/base/channel.ts';
import { type Choosable, chooseLines } from '#db/commands/messages/line-choice.ts';
import { leavePools } from '#db/queries/lines/line-pools.ts';
import { lockLinesShared, usableLines } from '#db/queries/lines/lines.ts';
import { IS_TO_BE_SENT, MessageRow } from '#db/queries/messages/messages.ts';
import { inIndexOrder } from '#db/connection/index-order.ts';
import { ROWS_INSERTED } from '#db/connection/recordset.ts';
import { AddressRow, NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import type { LineStop } from '#domain/lines/line-stop.ts';
import { lineHandoverId, linePacerId } from '#workflows/protocol/workflow-ids.ts';

export const Unsent = MessageRow.pick({ id: true, channel: true, address: true, scheduledAt: true }).extend({
  arrival: z.int(),
  lineId: z.string().nullable(),
  poolId: z.string().nullable(),
  eligibleLineIds: z.array(z.string()).nullable(),
  stickinessPolicy: z.enum(['sticky', 'round_robin']),
});
export type Unsent = z.infer<typeof Unsent>;

/** A position among the unsent messages of a line, to the microsecond, in the order in which they are sent. */
const QueuePosition = z.object({ at: z.string(), arrival: z.int() });
export type QueuePosition = z.infer<typeof QueuePosition>;

/** The number of messages or contacts changed in one transaction, which takes about half a second. A workflow does the rest. */
export const CHUNK = 2000;

const Queue = z.object({ workspaceId: z.string(), lineId: z.string() });

/**
 * The queues of lines that are no longer in the workspace. Each should have a workflow that hands its messages over
 * (`lineHandoverId`).
 */
export async function strandedQueues(db: SystemDb): Promise<z.infer<typeof Queue>[]> {
  return [...(await db.any(sql.type(Queue)`select * from stranded_queues()`))];
}

/**
 * Assigns the unsent messages of a line that is not sending to other lines, as if they were accepted now. Keeps their
 * scheduled times. Messages pinned to the line stay, and those of its pools, which have rules of their own (`failOverChunk`).
 * A workflow continues after the first chunk.
 * @param lineId null: the messages that no line could send so far.
 */
export async function reassignMessagesOf(db: TenantDb, lineId: string | null): Promise<void> {
  if (await reassignChunk(db, lineId, null)) continueLater(db, lineId);
}

/**
 * Reassigns the next messages of a line that is not sending.
 * @param after the last place of the previous chunk.
 * @returns the last place of this chunk; null when nothing is left.
 */
export async function reassignChunk(
  db: TenantDb,
  lineId: string | null,
  after: QueuePosition | null,
): Promise<QueuePosition | null> {
  const given = sql.fragment`${unsentOf(db, lineId)} and not line_pinned and not exists (
    select from pool_lines p where p.workspace_id = ${db.workspaceId} and p.pool_id = messages.pool_id
      and p.line_id = messages.line_id)`;
  const chunk = await nextToLeave(db, given, after);
  const waiting = await lockToMove(db, given, chunk, []);
  await reassignMessages(db, waiting, { reason: 'line_stopped' });
  return (chunk.length === CHUNK && chunk.at(-1)) || null;
}

/**
 * Removes a line that leaves its workspace from its pools and contacts, and assigns its unsent messages to other lines, even
 * pinned ones. A workflow continues after the first chunk.
 */
export async function removeLineFromWorkspace(db: TenantDb, lineId: string): Promise<void> {
  await leavePools(db, lineId);
  if (!(await removeChunk(db, lineId, null)).isDone) continueLater(db, lineId);
}

/**
 * Reassigns the next messages, then the next contacts, of a line that left.
 * @param after the last place of the previous chunk: from the beginning, it would read again what has moved since.
 * @returns the last place of this chunk; null: from the beginning, where others may have come meanwhile.
 */
export async function removeChunk(
  db: TenantDb,
  lineId: string,
  after: QueuePosition | null,
): Promise<{ after: QueuePosition | null; isDone: boolean }> {
  const chunk = await nextToLeave(db, unsentOf(db, lineId), after);
  const last = chunk.at(-1) ?? after;
  if (chunk.length === CHUNK) {
    await moveLeftBehind(db, lineId, chunk);
    return { after: last, isDone: false };
  }
  const contacts = await db.anyFirst(sql.type(AddressRow)`
    select address from conversations where workspace_id = ${db.workspaceId} and line_id = ${lineId} limit ${CHUNK}`);
  await moveLeftBehind(db, lineId, chunk, contacts);
  // A deleted line needs no contacts; a line that came back keeps them.
  const { rowCount: forgotten } = await db.query(sql.type(NoRows)`
    delete from line_contacts where workspace_id = ${db.workspaceId} and ctid = any(array(
      select ctid from line_contacts c where workspace_id = ${db.workspaceId} and line_id = ${lineId}
        and not exists (select from lines l where l.workspace_id = ${db.workspaceId} and l.id = c.line_id)
      limit ${CHUNK}))`);
  if (contacts.length === CHUNK || forgotten === CHUNK) return { after: last, isDone: false };
  return { after: null, isDone: after === null };
}

/** Assigns messages with a pending fallback SMS to another line, because a line's pacer sends it. */
export async function reassignFallbacksDue(db: TenantDb, lineId: string): Promise<void> {
  const chunk = await nextToLeave(db, unsentOf(db, lineId), null);
  await moveLeftBehind(db, lineId, chunk);
  if (chunk.length === CHUNK) continueLater(db, lineId);
}

async function moveLeftBehind(
  db: TenantDb,
  lineId: string,
  chunk: readonly InQueue[],
  contacts: readonly string[] = [],
): Promise<void> {
  if (chunk.length + contacts.length === 0) return;
  const messages = await lockToMove(db, unsentOf(db, lineId), chunk, contacts);
  await db.query(sql.type(NoRows)`
    update conversations set line_id = null
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...contacts], 'text')}) and line_id = ${lineId}`);
  const usable = await usableLines(db);
  const canGo = ({ channel, eligibleLineIds }: Unsent): boolean =>
    usable.some(
      (line) =>
        CARRYING_CHANNELS[channel].includes(line.channel) && (eligibleLineIds?.includes(line.id) ?? true),
    );
  await reassignMessages(
    db,
    messages.map((message) => (canGo(message) ? message : { ...message, eligibleLineIds: null })),
    { reason: 'line_left' },
  );
}

const continueLater = (db: TenantDb, lineId: string | null): void =>
  wake(db, lineHandoverId(lineId, db.workspaceId), currentTime(), 'messagesDue');

/** The unsent messages of a line, and messages whose fallback SMS is due. */
export const unsentOf = (db: TenantDb, lineId: string | null) => sql.fragment`
  workspace_id = ${db.workspaceId} and ${lineId === null ? sql.fragment`line_id is null` : sql.fragment`line_id = ${lineId}`}
  and ${IS_TO_BE_SENT}`;

const InQueue = QueuePosition.extend({ id: z.string(), address: z.string() });
type InQueue = z.infer<typeof InQueue>;

/** In the order of the index, so that a chunk reads only its own rows. */
async function nextToLeave(
  db: TenantDb,
  messages: FragmentSqlToken,
  after: QueuePosition | null,
): Promise<readonly InQueue[]> {
  const further = after
    ? sql.fragment`and (scheduled_at, arrival) > (${after.at}::timestamptz, ${after.arrival})`
    : sql.fragment``;
  return inIndexOrder(db, () =>
    db.any(sql.type(InQueue)`
      select id, address, scheduled_at::text "at", arrival from messages where ${messages} ${further}
      order by scheduled_at, arrival limit ${CHUNK}`),
  );
}

/**
 * Locks what may change, in the order of docs/architecture.md: the candidate lines, the contacts' conversations, the
 * messages.
 * @returns the messages of the chunk that still qualify, in queue order.
 */
export async function lockToMove(
  db: TenantDb,
  messages: FragmentSqlToken,
  chunk: readonly Pick<InQueue, 'id' | 'address'>[],
  contacts: readonly string[],
): Promise<Unsent[]> {
  const lines = await usableLines(db);
  await lockLinesShared(
    db,
    lines.map(({ id }) => id),
  );
  const addresses = [...new Set([...chunk.map(({ address }) => address), ...contacts])];
  await db.query(sql.type(NoRows)`
    select from conversations where workspace_id = ${db.workspaceId} and address = any(${sql.array(addresses, 'text')})
    order by address for no key update`);
  const ids = chunk.map(({ id }) => id);
  // Only by their ids, instead of all remaining rows of the line.
  const rows = await db.any(sql.type(Unsent)`
    with messages as materialized (
      select * from messages where workspace_id = ${db.workspaceId} and id = any(${sql.array(ids, 'text')})
      order by id for no key update)
    select id, channel, address, scheduled_at, arrival, line_id, pool_id, eligible_line_ids, stickiness_policy from messages
    where ${messages}`);
  return rows.toSorted((a, b) => a.scheduledAt.getTime() - b.scheduledAt.getTime() || a.arrival - b.arrival);
}

/** The reason for changing the line, for the timelines of the messages. */
export interface Handover {
  reason: LineStop | 'line_stopped' | 'line_left' | 'by_operator';
  /** The rule of a pool. */
  rule?: string;
}

/** Assigns messages to other lines. Requires `lockToMove`. */
export async function reassignMessages(
  db: TenantDb,
  messages: readonly Unsent[],
  { reason, rule }: Handover,
): Promise<void> {
  if (messages.length === 0) return;
  const chosen = await chooseLines<Choosable & Unsent>(
    db,
    messages.map((message) => ({ ...message, pinnedLineId: null })),
  );
  const lineOf = new Map(messages.map(({ id, lineId }) => [id, lineId]));
  await db.query(sql.type(NoRows)`
    update messages m set line_id = v.line_id, line_pinned = false, updated_at = now()
    from ${sql.unnest(
      chosen.map(({ id, lineId }) => [id, lineId]),
      ['text', 'text'],
    )} as v (id, line_id)
    where m.workspace_id = ${db.workspaceId} and m.id = v.id and (m.line_id is distinct from v.line_id or m.line_pinned)`);
  const moves = chosen.flatMap(({ id, scheduledAt, lineId }) => {
    const from = lineOf.get(id) ?? null;
    return from === null || lineId === null || from === lineId
      ? []
      : [[id, scheduledAt.toISOString(), from, lineId]];
  });
  if (moves.length > 0) {
    await db.query(sql.type(NoRows)`
      insert into message_moves (workspace_id, message_id, at, moved_from, moved_to, reason, rule, from_line_id, to_line_id)
      select ${db.workspaceId}, v.id, ${sql.timestamp(currentTime())}, v.at, v.at, ${reason}, ${rule ?? null}, v.from_line_id, v.to_line_id
      from ${sql.unnest(moves, ['text', 'timestamptz', 'text', 'text'])} as v (id, at, from_line_id, to_line_id)
      on conflict do nothing ${ROWS_INSERTED}`);
  }
  // Some of them are sent even by lines that hold their messages: SMS that replace messages.
  for (const { lineId: toLine, scheduledAt } of chosen)
    if (toLine !== null) wake(db, linePacerId(toLine), scheduledAt, 'messagesDue');
}
