import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import { isLive } from './live.ts';

const Drips = z.object({ workspaceId: z.string(), drips: z.int(), oldestSeconds: z.int() });
const Queue = z.object({
  workspaceId: z.string(),
  lineId: z.string().nullable(),
  carrier: z.string().nullable(),
  due: z.int(),
  oldestSeconds: z.int(),
});
const Failures = z.object({
  workspaceId: z.string(),
  lineId: z.string(),
  carrier: z.string(),
  failures: z.int(),
  lastReason: z.string().nullable(),
});
const Webhook = z.object({
  workspaceId: z.string(),
  webhookId: z.string(),
  open: z.int(),
  oldestSeconds: z.int().nullable(),
  failedLastHour: z.int(),
  lastError: z.string().nullable(),
});
const Line = z.object({
  workspaceId: z.string(),
  lineId: z.string(),
  carrier: z.string(),
  state: z.string(),
  since: z.date().nullable(),
  reason: z.string().nullable(),
});

const age = (column: ReturnType<typeof sql.fragment>) =>
  sql.fragment`coalesce(extract(epoch from now() - min(${column})), 0)::int`;

/** Reasons of carriers may quote a recipient; this many characters tell what it is about. */
const REASON_LENGTH = 120;

const LIVE = isLive(sql.fragment`workspace_id`);

/**
 * Whose work waits or fails, most first, without test mode: what the metrics tell without names. Reads whole indexes, so it is for operators only.
 */
export async function readTop(db: SystemDb, limit: number) {
  const [drips, queues, failures, webhooks, lines] = await Promise.all([
    db.any(sql.type(Drips)`
      select workspace_id, count(*)::int drips, ${age(sql.fragment`created_at`)} oldest_seconds
      from drip_buffer where ${LIVE} group by 1 order by 2 desc limit ${limit}`),
    db.any(sql.type(Queue)`
      select q.*, l.carrier from (
        select workspace_id, line_id, count(*)::int due, ${age(sql.fragment`scheduled_at`)} oldest_seconds
        from messages where status in ('pending', 'scheduled') and not held and scheduled_at <= now() and ${LIVE}
        group by 1, 2 order by 3 desc limit ${limit}
      ) q left join lines l on l.workspace_id = q.workspace_id and l.id = q.line_id order by q.due desc`),
    db.any(sql.type(Failures)`
      select workspace_id, line_id, carrier, count(*)::int failures,
        left((array_agg(reason order by started_at desc))[1], ${REASON_LENGTH}) last_reason
      from attempts where id >= first_id(now() - interval '1 hour') and outcome <> 'accepted' and ${LIVE}
      group by 1, 2, 3 order by 4 desc limit ${limit}`),
    db.any(sql.type(Webhook)`
      select workspace_id, webhook_id, count(*) filter (where status <> 'done')::int open,
        extract(epoch from now() - min(created_at) filter (where status <> 'done'))::int oldest_seconds,
        count(*) filter (where success = false)::int failed_last_hour,
        (array_agg(coalesce(error, response_status::text) order by id desc) filter (where success = false))[1] last_error
      from webhook_deliveries where (status <> 'done' or id >= first_id(now() - interval '1 hour')) and ${LIVE}
      group by 1, 2 having count(*) filter (where status <> 'done' or success = false) > 0
      order by 3 desc, 5 desc limit ${limit}`),
    db.any(sql.type(Line)`
      select workspace_id, id line_id, carrier, case when health_status = 'down' then 'down' else 'blocked' end state,
        coalesce(blocked_at, stopped_at) since, left(health_reason, ${REASON_LENGTH}) reason
      from lines where is_active and provisioning_status = 'active' and (health_status = 'down' or blocked_at is not null) and ${LIVE}
      order by 5 desc nulls last limit ${limit}`),
  ]);
  return { queues, failures, webhooks, drips, lines };
}

/** Has the workers probe a line next. @returns false if there is no such line. */
export async function requestProbe(db: SystemDb, workspaceId: string, lineId: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update lines set health_checked_at = null where workspace_id = ${workspaceId} and id = ${lineId}`);
  return rowCount > 0;
}

const Health = z.object({
  status: z.string(),
  checkedAt: z.date().nullable(),
  reason: z.string().nullable(),
  isProbed: z.boolean(),
});

export async function lineHealth(
  db: SystemDb,
  workspaceId: string,
  lineId: string,
): Promise<z.infer<typeof Health> | null> {
  return db.maybeOne(sql.type(Health)`
    select health_status status, health_checked_at checked_at, health_reason reason,
      is_active and provisioning_status = 'active' and carrier <> 'none' is_probed
    from lines where workspace_id = ${workspaceId} and id = ${lineId}`);
}
