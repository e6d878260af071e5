import { sql } from 'slonik';
import { z } from 'zod';
import { ERASED_BODY, EventName } from '#domain/events/event.ts';
import { firstId } from '#domain/base/ids.ts';
import { IdRow } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';

const Publication = z.object({
  workspaceId: z.string(),
  /** Of the last published event; 0: none was published. */
  position: z.int(),
  /** Whether to publish: there may be committed events that have no position. */
  pending: z.boolean(),
});
type Publication = z.infer<typeof Publication>;

const PublicationsRow = z.object({ publications: z.array(Publication) });

/** How far the events of workspaces are published. */
export async function publicationsOf(
  db: SystemDb,
  workspaceIds: readonly string[],
): Promise<readonly Publication[]> {
  // One row, because the streams of a process ask five times a second, and each row costs it a tenth of a millisecond.
  return db.oneFirst(sql.type(PublicationsRow)`
    select coalesce(json_agg(json_build_object(
      'workspaceId', workspace_id, 'position', position, 'pending', pending)), '[]') publications
    from publications_of(${sql.array(workspaceIds, 'text')})`);
}

/** A position among the published events of a workspace. */
export interface StreamPosition {
  position: number;
  /** When the event there happened, or a time when nothing was published after it. */
  at: Date;
}

/** How much older than an event a later one can be: more than any transaction takes. */
const DISORDER_MS = 86_400_000;

/** The lowest id that can come after a place. It keeps PostgreSQL from opening the partitions of earlier days. */
const idsFrom = ({ at }: StreamPosition): string => firstId(new Date(at.getTime() - DISORDER_MS));

const PositionRow = z.object({ position: z.int() });

/** @returns null if the event is unknown, or no longer kept. */
export async function positionOf(db: TenantDb, id: string): Promise<number | null> {
  return db.maybeOneFirst(sql.type(PositionRow)`
    select position from published_events where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** The last event up to a position. */
export async function lastEventUntil(db: TenantDb, position: number): Promise<string | null> {
  return db.maybeOneFirst(sql.type(IdRow)`
    select id from published_events where workspace_id = ${db.workspaceId} and position <= ${position}
    order by position desc limit 1`);
}

const PublishedEvent = z.object({
  position: z.int(),
  id: z.string(),
  event: EventName.nullable(),
  body: z.string().nullable(),
});
export type PublishedEvent = z.infer<typeof PublishedEvent>;

/** Limits of one read. */
const MAX_EVENTS = 100;
const MAX_BYTES = 64 * 1024;

/**
 * The next events after a place, in order; those that were deleted or erased without a body; at least one if there is any up to `until`.
 * @param until a position.
 */
export async function eventsAfter(
  db: TenantDb,
  place: StreamPosition,
  until: number,
): Promise<readonly PublishedEvent[]> {
  const from = idsFrom(place);
  return db.any(sql.type(PublishedEvent)`
    with next as materialized (
      select position, id from published_events
      where workspace_id = ${db.workspaceId} and position > ${place.position} and position <= ${until} and id >= ${from}
      order by position limit ${MAX_EVENTS}
    ), read as (
      select n.position, n.id, e.event, e.body,
        coalesce(sum(octet_length(e.body)) over (order by n.position rows between unbounded preceding and 1 preceding), 0) bytes_before
      from next n left join lateral (
        select event, body from events
        where workspace_id = ${db.workspaceId} and id = n.id and id >= ${from} and body <> ${ERASED_BODY}
        offset 0
      ) e on true
    )
    select position, id, event, body from read where bytes_before < ${MAX_BYTES} order by position`);
}
