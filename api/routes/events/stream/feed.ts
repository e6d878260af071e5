import { realTime } from '#domain/base/clock.ts';
import type { Pools } from '#db/connection/pools.ts';
import { eventsAfter, type StreamPosition } from '#db/queries/events/published-events.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { formatEvent } from '#domain/events/event-stream.ts';

/** The next events of a workspace in the format that clients receive, about 64 KB at most. */
export interface Batch {
  /** null: there are none. */
  readonly chunk: Buffer | null;
  /** The position after them. */
  readonly next: StreamPosition;
}

/** Reads published events. Streams at the same position share one read and one copy in memory. */
export interface Feed {
  /** @param until the position up to which events are published. */
  read(workspaceId: string, place: StreamPosition, until: number): Promise<Batch>;
}

/** How long a read is shared. Streams that are up to date read within milliseconds of each other. */
const SHARED_MS = 1000;

export function createFeed(pools: Pools): Feed {
  const shared = new Map<string, Promise<Batch>>();

  async function read(workspaceId: string, place: StreamPosition, until: number): Promise<Batch> {
    const at = realTime();
    const events = await withTenant(pools, workspaceId, (db) => eventsAfter(db, place, until));
    const last = events.at(-1);
    if (!last) return { chunk: null, next: { position: until, at } };
    const text = events.map(formatEvent).join('');
    return {
      chunk: text === '' ? null : Buffer.from(text),
      next: { position: last.position, at: last.position < until ? timeOf(last.id) : at },
    };
  }

  return {
    read(workspaceId, place, until) {
      const key = `${workspaceId} ${place.position} ${until}`;
      const known = shared.get(key);
      if (known) return known;
      const batch = read(workspaceId, place, until);
      shared.set(key, batch);
      const forget = (): void => void shared.delete(key);
      batch.catch(forget);
      setTimeout(forget, SHARED_MS).unref();
      return batch;
    },
  };
}

/** When an event was created, from its id. */
export const timeOf = (id: string): Date => new Date(Number.parseInt(id.slice(0, 8), 16) * 1000);
