/** A member who is not away. */
export interface Available {
  userId: string;
  /** How many open conversations they have. */
  open: number;
}

/** In place of a member: whose turn it is. */
export const ROUND_ROBIN = 'round_robin';

/**
 * Deals conversations out in turn: each to the member with the fewest open ones, the first of them by id.
 * @returns the member of each conversation; empty if nobody is available.
 */
export function dealOut(members: readonly Available[], count: number): string[] {
  const loads = new Map(members.map(({ userId, open }) => [userId, open]));
  const dealt: string[] = [];
  for (let index = 0; index < count && loads.size > 0; index += 1) {
    const [next] = [...loads].toSorted(([a, left], [b, right]) => left - right || (a < b ? -1 : 1));
    if (!next) break;
    const [userId, open] = next;
    loads.set(userId, open + 1);
    dealt.push(userId);
  }
  return dealt;
}
