import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Bounds } from '#domain/base/calendar.ts';
import { type OptOutChange, OptOutSource } from '#domain/contacts/opt-out.ts';
import { shownReply } from '#domain/inbox/reply.ts';

const ChangeRow = z.object({
  id: z.string(),
  address: z.string(),
  status: z.enum(['granted', 'revoked']),
  origin: OptOutSource,
  at: z.date(),
  replyId: z.string().nullable(),
  body: z.string().nullable(),
});
export type ChangeRow = z.infer<typeof ChangeRow>;

export const presentChange = ({
  id,
  address,
  status,
  origin,
  at,
  replyId,
  body,
}: ChangeRow): OptOutChange => ({
  _id: id,
  address,
  change: status === 'revoked' ? 'opted_out' : 'opted_in',
  source: origin,
  at: at.toISOString(),
  replyId,
  message: body === null ? null : shownReply(body),
});

export interface ChangeFilter {
  change?: OptOutChange['change'] | undefined;
  from?: Date | undefined;
  /** Inclusive. */
  to?: Date | undefined;
}

const CHANGES = sql.fragment`
  select c.id, c.address, c.status, c.origin, c.at, c.reply_id, i.body
  from consents c
  left join inbound_messages i on i.workspace_id = c.workspace_id and i.id = c.reply_id`;

/** By their ids, in any order. */
export async function findOptOutChanges(db: TenantDb, ids: readonly string[]): Promise<readonly ChangeRow[]> {
  return db.any(sql.type(ChangeRow)`
    ${CHANGES} where c.workspace_id = ${db.workspaceId} and c.origin is not null
      and c.id = any(${sql.array([...ids], 'text')})`);
}

/** Newest first, starting after the position `after`. */
export async function listOptOutChanges(
  db: TenantDb,
  { change, from, to }: ChangeFilter,
  { limit, after }: { limit: number; after: { at: Date; key: string } | null },
): Promise<ChangeRow[]> {
  const rows = await db.any(sql.type(ChangeRow)`
    ${CHANGES} where ${sql.and([
      sql.fragment`c.workspace_id = ${db.workspaceId} and c.origin is not null`,
      change && sql.fragment`c.status = ${change === 'opted_out' ? 'revoked' : 'granted'}`,
      from && sql.fragment`c.at >= ${sql.timestamp(from)}`,
      to && sql.fragment`c.at <= ${sql.timestamp(to)}`,
      after && sql.fragment`(c.at, c.id) < (${sql.timestamp(after.at)}, ${after.key})`,
    ])}
    order by c.at desc, c.id desc limit ${limit}`);
  return [...rows];
}

const CountRow = z.object({ bucket: z.int(), optedOut: z.int(), optedIn: z.int() });

/** The opt-outs and opt-ins of each bucket. The buckets must be contiguous. */
export async function countOptOutChanges(
  db: TenantDb,
  buckets: readonly Bounds[],
): Promise<{ optedOut: number; optedIn: number }[]> {
  const [first, last] = [buckets[0], buckets.at(-1)];
  if (!first || !last) return [];
  const starts = buckets.map(({ start }) => start.toISOString());
  const rows = await db.any(sql.type(CountRow)`
    select width_bucket(at, ${sql.array(starts, sql.fragment`timestamptz[]`)}) bucket,
      count(*) filter (where status = 'revoked') opted_out, count(*) filter (where status = 'granted') opted_in
    from consents
    where workspace_id = ${db.workspaceId} and origin is not null and at >= ${sql.timestamp(first.start)}
      and at < ${sql.timestamp(last.end)}
    group by bucket`);
  const counts = new Map(rows.map(({ bucket, ...count }) => [bucket, count]));
  return buckets.map((_, index) => counts.get(index + 1) ?? { optedOut: 0, optedIn: 0 });
}
