import { type CommonQueryMethods, type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import type { AnalyticsFilter } from '#domain/analytics.ts';
import type { Bounds } from '#domain/calendar.ts';
import { type Counts, NO_COUNTS, POSITIVE_TAGS } from '#domain/metrics.ts';
import type { SystemDb, TenantDb } from './pool.ts';

/** The counts of a workspace (specification §2.14), exact: from the messages themselves. */
export async function countMessages(db: TenantDb, filter: AnalyticsFilter): Promise<Counts> {
  const counts = await count(db, [db.workspaceId], filter, () => sql.fragment`''`);
  return counts.get('') ?? NO_COUNTS;
}

/** The same for each of several workspaces; those with nothing to count are left out. */
export async function countByWorkspace(
  db: SystemDb,
  workspaceIds: readonly string[],
  filter: AnalyticsFilter,
): Promise<Map<string, Counts>> {
  return count(db, workspaceIds, filter, ({ workspace }) => workspace);
}

/** The same for each of the intervals, which follow one another without gaps. */
export async function countByBucket(
  db: TenantDb,
  filter: AnalyticsFilter,
  buckets: readonly Bounds[],
): Promise<Counts[]> {
  const starts = sql.array(
    buckets.map(({ start }) => start.toISOString()),
    sql.fragment`timestamptz[]`,
  );
  const counts = await count(
    db,
    [db.workspaceId],
    filter,
    ({ at }) => sql.fragment`width_bucket(${at}, ${starts})::text`,
  );
  return buckets.map((_, index) => counts.get(String(index + 1)) ?? NO_COUNTS);
}

type GroupBy = (columns: { workspace: FragmentSqlToken; at: FragmentSqlToken }) => FragmentSqlToken;

const Outbound = z.object({
  key: z.string(),
  reached: z.int(),
  sent: z.int(),
  fallback: z.int(),
  failed: z.int(),
});
const Inbound = z.object({
  key: z.string(),
  replied: z.int(),
  uniqueReplied: z.int(),
  positiveReplied: z.int(),
});

const LEFT = sql.fragment`m.status in ('sent', 'delivered')`;

async function count(
  db: CommonQueryMethods,
  workspaceIds: readonly string[],
  filter: AnalyticsFilter,
  groupBy: GroupBy,
): Promise<Map<string, Counts>> {
  const ids = sql.array([...workspaceIds], 'text');
  const outbound = await db.any(sql.type(Outbound)`
    select ${groupBy({ workspace: sql.fragment`m.workspace_id`, at: sql.fragment`m.created_at` })} "key",
      count(distinct m.address) filter (where ${LEFT}) reached, count(*) filter (where ${LEFT}) sent,
      count(*) filter (where m.status = 'fallback' or m.fallback_sms = 'dispatched') fallback,
      count(*) filter (where m.status = 'failed') failed
    from messages m
    where ${sql.and([sql.fragment`m.workspace_id = any(${ids})`, ...outboundFilter(filter)])}
    group by 1`);
  const inbound = await db.any(sql.type(Inbound)`
    select ${groupBy({ workspace: sql.fragment`i.workspace_id`, at: sql.fragment`i.received_at` })} "key",
      count(*) replied, count(distinct i.address) filter (where not i.auto_reply) unique_replied,
      count(distinct i.address) filter (where not i.auto_reply and exists (
        select from unnest(c.tags) tag where lower(tag) = any(${sql.array([...POSITIVE_TAGS], 'text')})
      )) positive_replied
    from inbound_messages i
    left join conversations c on c.workspace_id = i.workspace_id and c.address = i.address
    where ${sql.and([sql.fragment`i.workspace_id = any(${ids})`, ...inboundFilter(filter)])}
    group by 1`);
  const counts = new Map<string, Counts>();
  for (const { key, ...row } of [...outbound, ...inbound])
    counts.set(key, { ...(counts.get(key) ?? NO_COUNTS), ...row });
  return counts;
}

function outboundFilter({ campaignId, lineId, userId, from, to }: AnalyticsFilter) {
  return [
    campaignId !== undefined && sql.fragment`m.campaign_id = ${campaignId}`,
    lineId !== undefined && sql.fragment`m.line_id = ${lineId}`,
    userId !== undefined && sql.fragment`m.created_by_user_id = ${userId}`,
    from !== undefined && sql.fragment`m.created_at >= ${sql.timestamp(from)}`,
    to !== undefined && sql.fragment`m.created_at < ${justAfter(to)}`,
  ];
}

/** Times are shown in whole milliseconds and stored finer: what is shown as `to` belongs in. */
const justAfter = (to: Date) => sql.timestamp(new Date(to.getTime() + 1));

/** A reply counts for the user who created the message that it answers. */
function inboundFilter({ campaignId, lineId, userId, from, to }: AnalyticsFilter) {
  return [
    campaignId !== undefined && sql.fragment`i.campaign_id = ${campaignId}`,
    lineId !== undefined && sql.fragment`i.line_id = ${lineId}`,
    userId !== undefined &&
      sql.fragment`exists (
        select from messages m
        where m.workspace_id = i.workspace_id and m.id = i.original_message_id and m.created_by_user_id = ${userId}
      )`,
    from !== undefined && sql.fragment`i.received_at >= ${sql.timestamp(from)}`,
    to !== undefined && sql.fragment`i.received_at < ${justAfter(to)}`,
  ];
}
