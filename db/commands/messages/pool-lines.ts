import { dayBounds } from '#domain/base/calendar.ts';
import type { Channel } from '#domain/base/channel.ts';
import {
  type Acquaintance,
  candidatesOf,
  closest,
  byRotation,
  keptLine,
  leastUsed,
  type PoolMember,
} from '#domain/lines/pool-choice.ts';
import { linesWrittenTo } from '#db/queries/inbox/conversations.ts';
import {
  advancePool,
  lineUse,
  poolAcquaintances,
  type PoolRow,
  rotationOf,
} from '#db/queries/lines/line-pools.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { workspaceTimezone } from '#db/queries/accounts/workspaces.ts';

interface Pooled {
  channel: Channel;
  address: string;
}

interface Rotation {
  members: readonly PoolMember[];
  rotation: string;
}

/**
 * Assigns each message a line of its pool, by the pool's strategy: the line that the contact keeps, otherwise one of those that
 * are working; null if no line of the pool can carry it.
 */
export async function choosePoolLines(
  db: TenantDb,
  pool: PoolRow,
  members: readonly PoolMember[],
  messages: readonly Pooled[],
  now: Date,
): Promise<(string | null)[]> {
  const acquaintances = await acquaintancesOf(db, pool, members, [
    ...new Set(messages.map(({ address }) => address)),
  ]);
  const chosen: (string | null)[] = messages.map(
    ({ channel, address }) =>
      keptLine(pool, members, { channel, has: acquaintances.get(address) }, now)?.id ?? null,
  );
  /** The messages that need a line; of several messages to one contact in a sticky pool, only the first. */
  const first = new Map<string, number>();
  for (const [index, { channel, address }] of messages.entries()) {
    const name = pool.sticky ? `${channel} ${address}` : String(index);
    if (chosen[index] === null && !first.has(name)) first.set(name, index);
  }
  await assign(db, pool, { members, messages, chosen, open: [...first.values()] }, now);
  for (const [index, { channel, address }] of messages.entries()) {
    const earlier = first.get(`${channel} ${address}`);
    if (pool.sticky && earlier !== undefined) chosen[index] ??= chosen[earlier] ?? null;
  }
  return chosen;
}

/** The lines that the contacts have in the pool. Without stickiness, only those that contacts have just written to. */
async function acquaintancesOf(
  db: TenantDb,
  { sticky }: PoolRow,
  members: readonly PoolMember[],
  addresses: readonly string[],
): Promise<ReadonlyMap<string, Acquaintance>> {
  if (sticky)
    return poolAcquaintances(
      db,
      members.map(({ id }) => id),
      addresses,
    );
  const writtenTo = await linesWrittenTo(db, addresses);
  return new Map([...writtenTo].map(([address, lineId]) => [address, { lineId, isKnown: true }]));
}

interface Assignment {
  members: readonly PoolMember[];
  messages: readonly Pooled[];
  /** Filled in. */
  chosen: (string | null)[];
  /** The indices of messages to be assigned a line. */
  open: readonly number[];
}

async function assign(db: TenantDb, pool: PoolRow, work: Assignment, now: Date): Promise<void> {
  const { members, messages, chosen, open } = work;
  const byChannel = new Map<Channel, readonly PoolMember[]>();
  const candidates = open.flatMap((index) => {
    const message = messages[index];
    if (!message) return [];
    const { channel, address } = message;
    const known = byChannel.get(channel) ?? candidatesOf(members, channel);
    byChannel.set(channel, known);
    if (known.length === 0) return [];
    return [{ index, members: pool.strategy === 'local' ? closest(known, address) : known }];
  });
  if (candidates.length === 0) return;

  if (pool.strategy === 'least_used') {
    const since = dayBounds(await workspaceTimezone(db), now).start;
    const used = await lineUse(
      db,
      members.map(({ id }) => id),
      since,
    );
    for (const { index, members: fitting } of candidates) {
      const line = leastUsed(fitting, used);
      if (!line) continue;
      chosen[index] = line.id;
      used.set(line.id, (used.get(line.id) ?? 0) + 1);
    }
    return;
  }
  const rotations = new Map<readonly PoolMember[], string>();
  const rotated: (Rotation & { index: number })[] = candidates.map(({ index, members: fitting }) => {
    const rotation = rotations.get(fitting) ?? rotationOf(fitting);
    rotations.set(fitting, rotation);
    return { index, members: fitting, rotation };
  });
  const counts = new Map<string, number>();
  for (const { rotation } of rotated) counts.set(rotation, (counts.get(rotation) ?? 0) + 1);
  const positions = await advancePool(db, pool.id, counts);
  for (const { index, members: fitting, rotation } of rotated) {
    const position = positions.get(rotation) ?? 0;
    positions.set(rotation, position + 1);
    chosen[index] = byRotation(fitting, position)?.id ?? null;
  }
}
