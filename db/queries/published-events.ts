import { sql } from 'slonik';
import { z } from 'zod';
import { ERASED_BODY, EventName } from '#domain/event.ts';
import { firstId } from '#domain/ids.ts';
import { IdRow } from '#db/rows.ts';
import type { SystemDb, TenantDb } from '#db/transactions.ts';

const BatchRow = z.object({ position: z.int(), workspaceIds: z.array(z.string()), pending: z.boolean() });

/**
 * The batches from a position on; at least the last one. If the first one is not at that position, batches in between
 * were deleted.
 * @returns `pending`: whether committed events are not published yet.
 */
export async function batchesFrom(
  db: SystemDb,
  position: number,
): Promise<readonly z.infer<typeof BatchRow>[]> {
  return db.any(sql.type(BatchRow)`
    with last as materialized (
      select position, snapshot, pg_snapshot_xmax(pg_current_snapshot()) now_end
      from event_batches order by position desc limit 1
    ), waiting as materialized (
      select pg_snapshot_xmax(last.snapshot) > now_end or exists (
          select from emitted_events where transaction_id >= pg_snapshot_xmax(last.snapshot) and transaction_id < now_end
        ) or exists (
          select from emitted_events where transaction_id = any(array(select pg_snapshot_xip(last.snapshot)))
        ) pending
      from last
    )
    select b.position, b.workspace_ids, waiting.pending from waiting, event_batches b
    where b.position >= least(${position}, (select position from last))
    order by b.position`);
}

/** A position among the published events of a workspace. */
export interface Place {
  position: number;
  /** When the event there happened, or a time when nothing was published after it. */
  at: Date;
}

/** How much older than an event a later one can be: more than any transaction takes. */
const DISORDER_MS = 86_400_000;

/** The lowest id that can come after a place. It keeps PostgreSQL from opening the partitions of earlier days. */
const idsFrom = ({ at }: Place): string => firstId(new Date(at.getTime() - DISORDER_MS));

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
  place: Place,
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
