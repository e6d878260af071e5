import { type CommonQueryMethods, type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import type { AnalyticsFilter, Span } from '#domain/analytics/analytics.ts';
import type { Bounds } from '#domain/base/calendar.ts';
import { Counts, NO_COUNTS } from '#domain/analytics/metrics.ts';
import { POSITIVE_TAGS } from '#domain/shared/positive-tags.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { countsOfDays, countsOfHours } from './analytics-cells.ts';
import { countsWithPartialDays } from './analytics-partial-days.ts';
import { COUNTED, FALLEN_BACK, inboundFilter, outboundFilter, SENT } from './analytics-filters.ts';

/** The exact counts of a workspace. @param timezone of the workspace. */
export async function countMessages(
  db: TenantDb,
  filter: AnalyticsFilter,
  timezone: string,
): Promise<Counts> {
  const [counts] = (await countsOfDays(db, { filter, spans: [filter] }, timezone)) ?? [];
  return counts ?? (await countsWithPartialDays(db, filter, timezone)) ?? countRange(db, filter);
}

async function countRange(db: TenantDb, filter: AnalyticsFilter): Promise<Counts> {
  const counts = await count(db, [db.workspaceId], filter, () => sql.fragment`''`);
  return counts.get('') ?? NO_COUNTS;
}

/** The counts of several workspaces; those without messages are omitted. */
export async function countByWorkspace(
  db: SystemDb,
  workspaceIds: readonly string[],
  filter: AnalyticsFilter,
): Promise<Map<string, Counts>> {
  return count(db, workspaceIds, filter, ({ workspace }) => workspace);
}

/**
 * The counts of each bucket. The buckets must be contiguous.
 * @param zones that of the buckets, and that of the workspace.
 */
export async function countByBucket(
  db: TenantDb,
  filter: AnalyticsFilter,
  buckets: readonly Bounds[],
  zones: { ofBuckets: string; ofWorkspace: string },
): Promise<Counts[]> {
  // Only the first and the last bucket can be cut by the filter's bounds.
  const spans = buckets.map(({ start, end }) => {
    const to = new Date(end.getTime() - 1);
    const from = filter.from && filter.from > start ? filter.from : start;
    return { from, to: filter.to && filter.to < to ? filter.to : to };
  });
  const isWhole = ({ from, to }: (typeof spans)[0], index: number): boolean =>
    from === buckets[index]?.start && to.getTime() === buckets[index].end.getTime() - 1;
  const first = spans.findIndex(isWhole);
  const end = spans.findLastIndex(isWhole) + 1;
  const whole = { filter, spans: spans.slice(first, end) };
  const counts =
    end === 0
      ? null
      : ((await countsOfDays(db, whole, zones.ofBuckets)) ??
        (await countsOfHours(db, whole, zones.ofWorkspace)));
  if (counts === null) return countByTime(db, filter, buckets);
  const countPartial = (partial: readonly Span[]) =>
    Promise.all(partial.map((span) => countRange(db, { ...filter, ...span })));
  return [
    ...(await countPartial(spans.slice(0, first))),
    ...counts,
    ...(await countPartial(spans.slice(end))),
  ];
}

async function countByTime(
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

const Outbound = Counts.pick({ reached: true, sent: true, fallback: true, failed: true }).extend({
  key: z.string(),
});
const Inbound = Counts.pick({ replied: true, uniqueReplied: true, positiveReplied: true }).extend({
  key: z.string(),
});

/**
 * Groups by contact first, because PostgreSQL can hash that, whereas `count(distinct)` sorts. Reads only columns of the
 * covering indexes (`messages_counted`, `inbound_messages_counted`, `conversations_tagged`); see docs/analytics.md for the effect.
 */
async function count(
  db: CommonQueryMethods,
  workspaceIds: readonly string[],
  filter: AnalyticsFilter,
  groupBy: GroupBy,
): Promise<Map<string, Counts>> {
  const ids = sql.array([...workspaceIds], 'text');
  // For this transaction only: memory for the contacts of a large workspace, so that the hash does not spill to disk,
  // and enough time for ten million messages.
  await db.query(sql.type(NoRows)`
    select set_local('work_mem', '64MB'), set_local('statement_timeout', '120s')`);
  const outbound = await db.any(sql.type(Outbound)`
    select key, count(*) filter (where sent > 0) reached, sum(sent)::bigint sent, sum(fallback)::bigint fallback,
      sum(failed)::bigint failed
    from (
      select ${groupBy({ workspace: sql.fragment`m.workspace_id`, at: sql.fragment`m.created_at` })} "key",
        count(*) filter (where ${SENT}) sent, count(*) filter (where ${FALLEN_BACK}) fallback,
        count(*) filter (where m.status = 'failed') failed
      from messages m
      where ${sql.and([sql.fragment`m.workspace_id = any(${ids})`, COUNTED, ...outboundFilter(filter)])}
      group by key, m.address
    ) contact
    group by key`);
  const inbound = await db.any(sql.type(Inbound)`
    select key, sum(replied)::bigint replied, count(*) filter (where answered) unique_replied,
      count(keen.address) filter (where answered) positive_replied
    from (
      select ${groupBy({ workspace: sql.fragment`i.workspace_id`, at: sql.fragment`i.received_at` })} "key",
        i.workspace_id, i.address, count(*) replied, bool_or(not i.auto_reply) answered
      from inbound_messages i
      where ${sql.and([sql.fragment`i.workspace_id = any(${ids})`, ...inboundFilter(filter)])}
      group by key, i.workspace_id, i.address
    ) contact
    left join (
      select c.workspace_id, c.address from conversations c
      where c.workspace_id = any(${ids}) and c.tags <> '{}' and exists (
        select from unnest(c.tags) tag where lower(tag) = any(${sql.array([...POSITIVE_TAGS], 'text')}))
    ) keen using (workspace_id, address)
    group by key`);
  const counts = new Map<string, Counts>();
  for (const { key, ...row } of [...outbound, ...inbound])
    counts.set(key, { ...(counts.get(key) ?? NO_COUNTS), ...row });
  return counts;
}
