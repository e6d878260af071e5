import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime, fromNow } from '#domain/base/clock.ts';
import { CARRYING_CHANNELS, type Channel } from '#domain/base/channel.ts';
import { ANSWER_MS } from '#domain/inbox/conversation.ts';
import { isGroupAddress } from '#domain/inbox/group.ts';
import type { AcceptedMessage } from '#domain/messages/accepted-message.ts';
import { conversationWith, lineWrittenTo } from '#db/queries/inbox/conversations.ts';
import { findPools, type PoolRow } from '#db/queries/lines/line-pools.ts';
import {
  lockLinesShared,
  existingLines,
  advanceRotation,
  type ChoosableLine,
  usableLines,
} from '#db/queries/lines/lines.ts';
import { choosePoolLines } from './pool-lines.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** The fields of a message that determine its line. */
export type Choosable = Pick<
  AcceptedMessage,
  'channel' | 'address' | 'pinnedLineId' | 'poolId' | 'eligibleLineIds' | 'stickinessPolicy'
>;
type Chosen<M> = M & { lineId: string | null };

/**
 * Assigns each message a line: the pinned one, otherwise one of its pool, otherwise the next active line of the best channel;
 * each channel of the workspace has its own round-robin. A contact who wrote within 24 hours is answered from the line they
 * wrote to, and a sticky message is sent by the line of its conversation. Null if no line can send it. The chosen lines are
 * locked in share mode. If the pinned line, the pool, or all eligible lines have left the workspace, they are ignored.
 */
export async function chooseLines<M extends Choosable>(
  db: TenantDb,
  messages: readonly M[],
): Promise<Chosen<M>[]> {
  const present = await lockRequestedLines(db, messages);
  const possible = messages.map((message) => withoutMissingLines(message, present));
  for (;;) {
    const lines = await usableLines(db);
    const messages = await assignLines(db, lines, possible);
    const wanted = messages.flatMap(({ lineId }) => lineId ?? []);
    const kept = await lockLinesShared(db, wanted);
    // Retry if a line left before it was locked.
    if (!wanted.every((lineId) => kept.has(lineId))) continue;
    await assignContactLines(db, lines, messages);
    return messages;
  }
}

/** The pinned and eligible lines of these messages that are in the workspace. Locks the pinned ones in share mode. */
async function lockRequestedLines(db: TenantDb, messages: readonly Choosable[]): Promise<Set<string>> {
  const pinned = await lockLinesShared(
    db,
    messages.flatMap(({ pinnedLineId }) => pinnedLineId ?? []),
  );
  // A set of arrays, because the messages of a campaign share one.
  const eligible = [...new Set(messages.map(({ eligibleLineIds }) => eligibleLineIds ?? []))].flat();
  return new Set([...pinned, ...(await existingLines(db, eligible))]);
}

function withoutMissingLines<M extends Choosable>(message: M, present: ReadonlySet<string>): M {
  const { pinnedLineId, eligibleLineIds } = message;
  return {
    ...message,
    pinnedLineId: pinnedLineId !== null && present.has(pinnedLineId) ? pinnedLineId : null,
    eligibleLineIds: eligibleLineIds?.some((id) => present.has(id)) ? eligibleLineIds : null,
  };
}

/** The channel for a contact's phone number if the line they wrote to has left: iMessage, unless only SMS lines can send. */
export async function channelForPhone(db: TenantDb): Promise<Channel> {
  const channels = new Set((await usableLines(db)).map(({ channel }) => channel));
  return channels.has('sms') && !channels.has('imessage') ? 'sms' : 'imessage';
}

async function assignLines<M extends Choosable>(
  db: TenantDb,
  lines: readonly ChoosableLine[],
  messages: readonly M[],
): Promise<Chosen<M>[]> {
  const pools = await findPools(
    db,
    messages.flatMap(({ pinnedLineId, poolId }) => (pinnedLineId === null ? (poolId ?? []) : [])),
  );
  const poolOf = ({ pinnedLineId, poolId }: M): PoolRow | undefined =>
    pinnedLineId === null && poolId !== null ? pools.find(({ id }) => id === poolId) : undefined;
  const assigned = new Map<M, string | null>();
  for (const [pool, those] of Map.groupBy(messages, poolOf)) {
    const lineIds = pool
      ? await choosePoolLines(db, pool, membersOf(pool, lines), those, currentTime())
      : await linesOfWorkspace(db, lines, those);
    for (const [index, message] of those.entries()) assigned.set(message, lineIds[index] ?? null);
  }
  return messages.map((message) => ({ ...message, lineId: assigned.get(message) ?? null }));
}

const membersOf = (pool: PoolRow, lines: readonly ChoosableLine[]) =>
  pool.lines.flatMap(({ lineId, weight }) => {
    const line = lines.find(({ id }) => id === lineId);
    return line ? [{ ...line, weight }] : [];
  });

/** The lines of messages without a pool. */
async function linesOfWorkspace(
  db: TenantDb,
  lines: readonly ChoosableLine[],
  messages: readonly Choosable[],
): Promise<(string | null)[]> {
  const known = await knownLines(db, messages);
  const candidatesFor = (wanted: Channel, eligibleLineIds: readonly string[] | null): Candidates | null => {
    for (const channel of CARRYING_CHANNELS[wanted]) {
      const fitting = lines.filter(
        (line) => line.channel === channel && (eligibleLineIds?.includes(line.id) ?? true),
      );
      // Prefer lines that are not down.
      const up = fitting.filter(({ down }) => !down);
      if (fitting.length > 0) return { channel, lineIds: (up.length > 0 ? up : fitting).map(({ id }) => id) };
    }
    return null;
  };
  // By channel and array, because the messages of a campaign share one.
  const found = new Map<readonly string[] | null, Partial<Record<Channel, Candidates | null>>>();
  const candidatesOf = ({ channel, eligibleLineIds }: Choosable): Candidates | null => {
    let byChannel = found.get(eligibleLineIds);
    if (!byChannel) found.set(eligibleLineIds, (byChannel = {}));
    const cached = byChannel[channel];
    return cached === undefined ? (byChannel[channel] = candidatesFor(channel, eligibleLineIds)) : cached;
  };
  const settled = messages.map((message) => {
    if (message.pinnedLineId !== null) return { message, lineId: message.pinnedLineId, candidates: null };
    // Another line is not in the group.
    if (isGroupAddress(message.address)) return { message, lineId: null, candidates: null };
    const candidates = candidatesOf(message);
    const { ofConversation = null, writtenTo = null } = known.get(message.address) ?? {};
    const lineId = message.stickinessPolicy === 'sticky' ? ofConversation : writtenTo;
    return {
      message,
      lineId: lineId !== null && candidates?.lineIds.includes(lineId) ? lineId : null,
      candidates,
    };
  });
  const open = settled.flatMap(({ lineId, candidates }) =>
    lineId === null && candidates ? [candidates.channel] : [],
  );
  const rotations = await advanceRotations(db, open);
  const chosen = new Map<string, string>();
  return settled.map(({ message, lineId, candidates }) => {
    if (lineId !== null || !candidates) return lineId;
    // A second message to the same contact in this batch uses the line of the first.
    const earlier =
      message.stickinessPolicy === 'sticky' ? chosen.get(`${message.channel} ${message.address}`) : undefined;
    const next = earlier ?? nextOf(candidates, rotations);
    chosen.set(`${message.channel} ${message.address}`, next);
    return next;
  });
}

/** The lines that can send a message, all of one channel. At least one. */
interface Candidates {
  channel: Channel;
  lineIds: readonly string[];
}

/** The next position of each channel's round-robin. */
type Rotations = Map<Channel, number>;

/** @param channels one for each position. */
async function advanceRotations(db: TenantDb, channels: readonly Channel[]): Promise<Rotations> {
  const rotations: Rotations = new Map();
  for (const [channel, { length }] of Map.groupBy(channels, (channel) => channel))
    rotations.set(channel, await advanceRotation(db, channel, length));
  return rotations;
}

function nextOf({ channel, lineIds }: Candidates, rotations: Rotations): string {
  const position = rotations.get(channel) ?? 0;
  rotations.set(channel, position + 1);
  return lineIds[position % lineIds.length] ?? '';
}

/**
 * Assigns the chosen line to the contact when its first message is queued, so that later messages use it. If that line
 * cannot send any more, or is not the one of the contact in the pool of the message, the new one replaces it. A message without
 * a line assigns none, but its conversation is locked as well: a withdrawal of consent waits for a campaign that enters the contact.
 */
async function assignContactLines(
  db: TenantDb,
  lines: readonly ChoosableLine[],
  messages: readonly Chosen<Choosable>[],
): Promise<void> {
  const first = new Map(messages.toReversed().map((message) => [message.address, message]));
  const rows = [...first.values()].map(
    ({ address, lineId, poolId }) => [address, lineId, poolId !== null] as const,
  );
  // Sorted, so that two transactions with the same contacts do not deadlock.
  rows.sort(([a], [b]) => (a < b ? -1 : 1));
  if (rows.length === 0) return;
  const sending = lines.flatMap(({ id, down }) => (down ? [] : [id]));
  const pooled = rows.flatMap(([address, , isPooled]) => (isPooled ? [address] : []));
  // Within a with clause, because a distributed database resolves the parameters of a conflict only there.
  await db.query(sql.type(NoRows)`
    with assigned as (
      insert into conversations (workspace_id, address, line_id)
      select ${db.workspaceId}, c.address, c.line_id
      from ${sql.unnest(
        rows.map(([address, lineId]) => [address, lineId]),
        ['text', 'text'],
      )} as c (address, line_id)
      on conflict (workspace_id, address) do update set line_id = excluded.line_id
        where excluded.line_id is not null and (
          conversations.line_id is null or excluded.address = any(${sql.array(pooled, 'text')})
          or conversations.line_id <> all(${sql.array(sending, 'text')}))
      returning null
    )
    select count(*) from assigned`);
}

const KnownLinesRow = z.object({
  address: z.string(),
  ofConversation: z.string().nullable(),
  writtenTo: z.string().nullable(),
});
type KnownLines = z.infer<typeof KnownLinesRow>;

/** The lines that the contacts of these messages know, by address. */
async function knownLines(db: TenantDb, messages: readonly Choosable[]): Promise<Map<string, KnownLines>> {
  const addresses = new Set(
    messages.flatMap(({ pinnedLineId, address }) => (pinnedLineId === null ? [address] : [])),
  );
  if (addresses.size === 0) return new Map();
  const since = sql.fragment`${sql.timestamp(fromNow(-ANSWER_MS))}`;
  const rows = await db.any(sql.type(KnownLinesRow)`
    select a.address, c.line_id of_conversation, heard.line_id written_to
    from unnest(${sql.array([...addresses], 'text')}) as a (address)
    cross join ${conversationWith(db, sql.fragment`a.address`)}
    left join ${lineWrittenTo(db, sql.fragment`a.address`, since)} on c.last_inbound_at > ${since}`);
  return new Map(rows.map((row) => [row.address, row]));
}
