import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { ERASED_BODY } from '#domain/events/event.ts';
import { firstId, newId } from '#domain/base/ids.ts';
import { REPLAYED_AT_ONCE } from '#domain/events/webhook.ts';
import { webhookDispatcherId } from '#workflows/protocol/workflow-ids.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

const OriginalRow = z.object({ id: z.string(), eventId: z.string(), event: z.string() });

/**
 * Sends past deliveries of a webhook again, as new deliveries: the oldest first, without those that are still to be attempted and
 * those whose contact was erased.
 * @param options.onlyFailed without those that have succeeded, or whose replay has, or may still.
 * @param options.cursor replays those after it.
 * @returns how many, and the last of them if there may be more.
 */
export async function replayDeliveries(
  db: TenantDb,
  webhookId: string,
  { since, onlyFailed, cursor }: { since: Date; onlyFailed: boolean; cursor?: string | undefined },
  now: Date,
): Promise<{ queued: number; nextCursor: string | null }> {
  const originals = await db.any(sql.type(OriginalRow)`
    select d.id, d.event_id, d.event from webhook_deliveries d
    where d.workspace_id = ${db.workspaceId} and d.webhook_id = ${webhookId}
      and d.id >= ${firstId(since)} and d.created_at >= ${sql.timestamp(since)}
      ${cursor === undefined ? sql.fragment`` : sql.fragment`and d.id > ${cursor}`}
      and d.status = 'done' and d.is_replay_of is null and d.event <> 'webhook.ping'
      ${onlyFailed ? sql.fragment`and not d.success and d.id not in (${replayed(db, webhookId, since)})` : sql.fragment``}
      and not ${isRetried('d')}
      and exists (
        select from events e where e.workspace_id = d.workspace_id and e.id = d.event_id and e.body <> ${ERASED_BODY})
    order by d.id limit ${REPLAYED_AT_ONCE}`);
  const rows = originals.map(({ id, eventId, event }) => [newId(), eventId, event, id]);
  await db.query(sql.type(NoRows)`
    insert into webhook_deliveries (workspace_id, id, webhook_id, event_id, event, is_replay_of)
    select ${db.workspaceId}, r.id, ${webhookId}, r.event_id, r.event, r.original
    from ${sql.unnest(rows, ['text', 'text', 'text', 'text'])} as r (id, event_id, event, original)`);
  if (rows.length > 0) wake(db, webhookDispatcherId(db.workspaceId), now, 'deliveriesDue');
  const isFull = originals.length === REPLAYED_AT_ONCE;
  return { queued: originals.length, nextCursor: (isFull && originals.at(-1)?.id) || null };
}

/** A delivery of this alias is to be attempted again. */
const isRetried = (alias: string): FragmentSqlToken => sql.fragment`exists (
  select from webhook_retries r
  where r.workspace_id = ${sql.identifier([alias, 'workspace_id'])} and r.delivery_id = ${sql.identifier([alias, 'id'])})`;

/** The deliveries since a time that need no further replay. */
const replayed = (db: TenantDb, webhookId: string, since: Date): FragmentSqlToken => sql.fragment`
  select a.is_replay_of from webhook_deliveries a
  where a.workspace_id = ${db.workspaceId} and a.webhook_id = ${webhookId} and a.id >= ${firstId(since)}
    and a.is_replay_of is not null and (a.success or a.status <> 'done' or ${isRetried('a')})`;
