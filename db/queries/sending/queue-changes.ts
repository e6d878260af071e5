import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { MAX_LIMIT } from '#domain/lines/line.ts';
import type { OpenLane } from '#domain/sending/pacing.ts';
import type { PersonHold } from '#domain/sending/person-holds.ts';
import { ROWS_INSERTED } from '#db/connection/recordset.ts';
import { AddressRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { isSuspected, openLanes, queued } from './queue.ts';

/* What moves the messages of a line's queue: to another time, to another lane, or out of it. */

/**
 * The given messages that nobody has locked. A round does not wait for the others, but looks again. Each is looked up by
 * its id: where statistics have few messages that wait, the planner would read all that do, for the ids among them.
 */
export const free = (db: TenantDb, ids: readonly string[]) => sql.fragment`
  select m.id from ${sql.unnest(
    ids.map((id) => [id]),
    ['text'],
  )} as chosen (id) cross join lateral (
    select id, status, held from messages where workspace_id = ${db.workspaceId} and id = chosen.id
    offset 0 for no key update skip locked
  ) m
  where m.status in ('pending', 'scheduled') and not m.held`;

/**
 * Postpones the due messages in open lanes to contacts who were just sent one until their gaps end. Skips locked
 * messages and those in `except`.
 */
export async function waitOutContactGaps(
  db: TenantDb,
  lineId: string,
  open: readonly OpenLane[],
  contactGaps: ReadonlyMap<string, Date>,
  except: readonly string[],
  now: Date,
): Promise<void> {
  if (contactGaps.size === 0) return;
  const contacts = [...contactGaps].map(([address, until]) => [address, until.toISOString()]);
  const moved = await db.any(sql.type(PostponedRow)`
    with free as materialized (
      select m.id, m.scheduled_at, m.hold_reason, r.until from ${sql.unnest(contacts, ['text', 'timestamptz'])} as r (address, until)
      join messages m on ${queued(db, lineId)} and m.address = r.address and m.scheduled_at <= ${sql.timestamp(now)}
      where not m.id = any(${sql.array([...except], 'text')}) and exists (
        select from ${openLanes(open)} where o.lane = m.lane and o.is_new = m.is_new and o.since <= m.scheduled_at)
      for no key update of m skip locked
    )
    update messages m set status = 'scheduled', scheduled_at = free.until, hold_reason = 'contact_gap', updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id
    returning m.id, free.scheduled_at moved_from, free.until moved_to,
      free.hold_reason is not distinct from 'contact_gap' again`);
  // A rule that moves the same message again and again is recorded once.
  await insertMoves(
    db,
    'contact_gap',
    moved.filter(({ again }) => !again),
  );
}

/** Makes the messages due that wait for the gaps of their contacts, which the line may have shortened. Skips locked messages. */
export async function endContactGaps(db: TenantDb, lineId: string, now: Date): Promise<void> {
  const longest = new Date(now.getTime() + MAX_LIMIT * 1000);
  await db.query(sql.type(NoRows)`
    with free as materialized (
      select m.id from messages m
      where ${queued(db, lineId)} and m.hold_reason = 'contact_gap' and m.scheduled_at > ${sql.timestamp(now)}
        and m.scheduled_at <= ${sql.timestamp(longest)}
      for no key update of m skip locked
    )
    update messages m set scheduled_at = ${sql.timestamp(now)}, hold_reason = null, updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id`);
}

/** Postpones messages of campaigns that wait because of their persons. Skips locked messages. */
export async function holdPersons(db: TenantDb, held: ReadonlyMap<string, PersonHold>): Promise<void> {
  for (const [reason, these] of Map.groupBy(held, ([, hold]) => hold.reason)) {
    const rows = these.map(([id, { until }]) => [id, until.toISOString()]);
    const moved = await db.any(sql.type(PostponedRow)`
      with free as materialized (
        ${free(
          db,
          these.map(([id]) => id),
        )}
      ),
      moved as (
        select m.id, m.scheduled_at, m.hold_reason, h.until
        from free join ${sql.unnest(rows, ['text', 'timestamptz'])} as h (id, until) on h.id = free.id
        join messages m on m.workspace_id = ${db.workspaceId} and m.id = free.id
      )
      update messages m set status = 'scheduled', scheduled_at = moved.until, hold_reason = ${reason}, updated_at = now()
      from moved where m.workspace_id = ${db.workspaceId} and m.id = moved.id
      returning m.id, moved.scheduled_at moved_from, moved.until moved_to, moved.hold_reason is not distinct from ${reason} again`);
    await insertMoves(
      db,
      reason,
      moved.filter(({ again }) => !again),
    );
  }
}

const MovedRow = z.object({ id: z.string(), movedFrom: z.date(), movedTo: z.date() });
const PostponedRow = MovedRow.extend({ again: z.boolean() });

/** Records, for the timelines of messages, that their times were moved. */
async function insertMoves(
  db: TenantDb,
  reason: string,
  moved: readonly z.infer<typeof MovedRow>[],
): Promise<void> {
  if (moved.length === 0) return;
  const rows = moved.map(({ id, movedFrom, movedTo }) => [
    id,
    movedFrom.toISOString(),
    movedTo.toISOString(),
  ]);
  await db.query(sql.type(NoRows)`
    insert into message_moves (workspace_id, message_id, at, moved_from, moved_to, reason)
    select ${db.workspaceId}, v.id, ${sql.timestamp(currentTime())}, v.moved_from, v.moved_to, ${reason}
    from ${sql.unnest(rows, ['text', 'timestamptz', 'timestamptz'])} as v (id, moved_from, moved_to)
    on conflict do nothing ${ROWS_INSERTED}`);
}

export const isOneOf = (ids: readonly string[]) => sql.fragment`m.id = any(${sql.array([...ids], 'text')})`;

/** Removes campaign messages to contacts with a suspected opt-out from the queue. Skips locked messages. */
export async function holdSuspected(db: TenantDb, which: ReturnType<typeof sql.fragment>): Promise<void> {
  await db.query(sql.type(NoRows)`
    with free as materialized (
      select m.id from messages m
      where m.workspace_id = ${db.workspaceId} and ${which} and m.status in ('pending', 'scheduled') and not m.held
        and ${isSuspected(db)}
      for no key update of m skip locked
    )
    update messages m set held = true, hold_reason = 'opt_out_suspected', updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id`);
}

/** Moves messages to send as SMS at once to later times. Skips locked messages. */
export async function postponeSmsOnly(
  db: TenantDb,
  later: ReadonlyMap<string, Date>,
  reason: string,
): Promise<number> {
  const rows = [...later].map(([id, until]) => [id, until.toISOString()]);
  const moved = await db.any(sql.type(MovedRow)`
    with free as materialized (${free(db, [...later.keys()])}),
    moved as (
      select m.id, m.scheduled_at, a.until
      from free join ${sql.unnest(rows, ['text', 'timestamptz'])} as a (id, until) on a.id = free.id
      join messages m on m.workspace_id = ${db.workspaceId} and m.id = free.id
    )
    update messages m set status = 'scheduled', scheduled_at = moved.until, hold_reason = ${reason}, updated_at = now()
    from moved where m.workspace_id = ${db.workspaceId} and m.id = moved.id
    returning m.id, moved.scheduled_at moved_from, moved.until moved_to`);
  await insertMoves(db, reason, moved);
  return moved.length;
}

/** Like `postponeSmsOnly`, for messages whose fallback SMS is due, except for those whose attempt has no outcome yet. */
export async function postponeFallbacks(
  db: TenantDb,
  later: ReadonlyMap<string, Date>,
  reason: string,
): Promise<number> {
  const rows = [...later].map(([id, until]) => [id, until.toISOString()]);
  const moved = await db.any(sql.type(MovedRow)`
    with free as materialized (
      select m.id, m.fallback_at, a.until from ${sql.unnest(rows, ['text', 'timestamptz'])} as a (id, until)
      cross join lateral (
        select id, fallback_at, fallback_sms from messages where workspace_id = ${db.workspaceId} and id = a.id
        offset 0 for no key update skip locked
      ) m
      where m.fallback_sms = 'due' and not exists (
        select from attempts t where t.workspace_id = ${db.workspaceId} and t.message_id = m.id and t.outcome is null)
    )
    update messages m set fallback_at = free.until, hold_reason = ${reason}, updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id
    returning m.id, free.fallback_at moved_from, free.until moved_to`);
  await insertMoves(db, reason, moved);
  return moved.length;
}

/** Moves messages to the lanes for new contacts, because they no longer are answers, or the earlier send failed. */
export async function markNew(db: TenantDb, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.query(sql.type(NoRows)`
    with free as materialized (${free(db, ids)})
    update messages m set is_new = true
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id and not m.is_new`);
}

/** Moves a line's messages to an address to the lanes for known contacts, after they exchanged a message. */
export async function markKnown(db: TenantDb, lineId: string, address: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages m set is_new = false
    where ${queued(db, lineId)} and m.address = ${address} and m.is_new`);
}

/**
 * Like `markKnown`, for addresses that a line is about to write to for the first time.
 * @param except the messages that it sends to them.
 * @returns the addresses with a locked message.
 */
export async function markKnownUnlessBusy(
  db: TenantDb,
  lineId: string,
  addresses: readonly string[],
  except: readonly string[],
): Promise<Set<string>> {
  if (addresses.length === 0) return new Set();
  const busy = await db.anyFirst(sql.type(AddressRow)`
    with others as materialized (
      select m.id, m.address from messages m
      where ${queued(db, lineId)} and m.address = any(${sql.array([...addresses], 'text')}) and m.is_new
        and not m.id = any(${sql.array([...except], 'text')})
    ), free as materialized (
      select m.id from messages m where m.workspace_id = ${db.workspaceId} and m.id in (select id from others)
      for no key update skip locked
    ), known as (
      update messages m set is_new = false from free where m.workspace_id = ${db.workspaceId} and m.id = free.id
    )
    select distinct address from others where id not in (select id from free)`);
  return new Set(busy);
}

/** Records what delayed the messages that are sent now, for their timelines, because a wait itself writes nothing. */
export async function recordMoves(
  db: TenantDb,
  moves: readonly { id: string; to: Date; reason: string }[],
): Promise<void> {
  if (moves.length === 0) return;
  const rows = moves.map(({ id, to, reason }) => [id, to.toISOString(), reason]);
  await db.query(sql.type(NoRows)`
    insert into message_moves (workspace_id, message_id, at, moved_from, moved_to, reason)
    select m.workspace_id, m.id, greatest(m.scheduled_at, m.created_at), m.scheduled_at, v.at, v.reason
    from ${sql.unnest(rows, ['text', 'timestamptz', 'text'])} as v (id, at, reason)
    join messages m on m.workspace_id = ${db.workspaceId} and m.id = v.id
    on conflict do nothing`);
}
