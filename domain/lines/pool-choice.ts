import { CARRYING_CHANNELS, type Channel } from '../base/channel.ts';
import { phoneArea, proximity } from '../base/phone-area.ts';
import { failsOverAt, type Pool } from './pool.ts';

/** A line of a pool to which messages may be assigned. */
export interface PoolMember {
  id: string;
  channel: Channel;
  phone: string | null;
  weight: number;
  /** Since when it sends nothing, or starts no conversations; null: it is not stopped. */
  stoppedAt: Date | null;
}

/** The lines of a pool among which a message's line is chosen: those of the best channel, without the stopped ones if others are left. */
export function candidatesOf<M extends PoolMember>(members: readonly M[], channel: Channel): M[] {
  for (const carrying of CARRYING_CHANNELS[channel]) {
    const fitting = members.filter((member) => member.channel === carrying);
    const working = fitting.filter(({ stoppedAt }) => stoppedAt === null);
    if (fitting.length > 0) return working.length > 0 ? working : fitting;
  }
  return [];
}

/** The line that a contact has in a pool. */
export interface Acquaintance {
  lineId: string;
  /** They have exchanged a message. */
  isKnown: boolean;
}

/**
 * The line that a contact keeps, as long as the pool does not give up on it: a line that has stopped keeps the contacts whom
 * its failover leaves with it, until then.
 * @returns null if another line must be chosen.
 */
export function keptLine<M extends PoolMember>(
  { failover, failoverAfterMinutes }: Pick<Pool, 'failover' | 'failoverAfterMinutes'>,
  members: readonly M[],
  { channel, has }: { channel: Channel; has: Acquaintance | undefined },
  now: Date,
): M | null {
  if (!has) return null;
  const line = members.find(({ id }) => id === has.lineId);
  if (!line || !CARRYING_CHANNELS[channel].includes(line.channel)) return null;
  if (line.stoppedAt === null) return line;
  const stays =
    failover === 'never' ||
    (has.isKnown &&
      (failover === 'new_conversations' || failsOverAt({ failoverAfterMinutes }, line.stoppedAt) > now));
  return stays ? line : null;
}

/** The lines whose numbers are closest to the address; all of them if it is not a phone number. */
export function closest<M extends PoolMember>(members: readonly M[], address: string): readonly M[] {
  if (!address.startsWith('+')) return members;
  const area = phoneArea(address);
  const distances = members.map(({ phone }) => (phone === null ? 0 : proximity(phoneArea(phone), area)));
  const nearest = Math.max(...distances);
  return members.filter((_, index) => distances[index] === nearest);
}

const MAX_REMEMBERED = 100;
const sequences = new Map<string, readonly number[]>();

/**
 * The order of turns in which each of the weights gets its share, as evenly as possible: for 3 and 1, the indices 0, 0, 1, 0.
 */
export function turnsOf(weights: readonly number[]): readonly number[] {
  const divisor = weights.reduce(greatestDivisor, 0);
  const shares = weights.map((weight) => weight / divisor);
  const key = shares.join();
  const known = sequences.get(key);
  if (known) return known;
  const turns = shares
    .flatMap((share, index) =>
      Array.from({ length: share }, (_, turn) => ({ at: (turn + 0.5) / share, index })),
    )
    .toSorted((a, b) => a.at - b.at || a.index - b.index)
    .map(({ index }) => index);
  if (sequences.size >= MAX_REMEMBERED) sequences.clear();
  sequences.set(key, turns);
  return turns;
}

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));

/** The line whose turn it is. @param position the position of the rotation over these lines. */
export function byRotation<M extends { weight: number }>(
  members: readonly M[],
  position: number,
): M | undefined {
  const turns = turnsOf(members.map(({ weight }) => weight));
  return members[turns[position % turns.length] ?? 0];
}

/** The line with the least usage relative to its weight; of equals, the first. @param used messages sent today and waiting, by line. */
export function leastUsed<M extends { id: string; weight: number }>(
  members: readonly M[],
  used: ReadonlyMap<string, number>,
): M | undefined {
  const share = ({ id, weight }: M): number => (used.get(id) ?? 0) / weight;
  return members.reduce<M | undefined>(
    (best, member) => (best && share(best) <= share(member) ? best : member),
    undefined,
  );
}
