import { type FragmentSqlToken, sql } from 'slonik';
import type { AnalyticsFilter } from '#domain/analytics/analytics.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { repliesOf, sentTo } from './analytics-filters.ts';

/** What to count from changes that are not in a cell yet. */
export interface Buckets {
  /** At most one of line, campaign and user. Its bounds are not used. */
  filter: AnalyticsFilter;
  /** When each bucket starts, and when the last one ends. */
  bounds: readonly string[];
}

/**
 * The common table expression `buckets`, which has the bounds as arrays. A series of hours has so many that PostgreSQL should read
 * them once only.
 */
export const bucketBounds = ({ bounds }: Buckets): FragmentSqlToken => sql.fragment`
  buckets as materialized (
    select bounds[:array_length(bounds, 1) - 1] starts, bounds
    from (select ${sql.array([...bounds], sql.fragment`timestamptz[]`)} bounds) b
  )`;
export const STARTS = sql.fragment`(select starts from buckets)`;
const BOUNDS = sql.fragment`(select bounds from buckets)`;

/**
 * Common table expressions `pending`, changes of contacts by metric and bucket, and `moods`, contacts who became positive or
 * ceased to be. Requires `buckets` and `progress`.
 */
export function pending({ workspaceId }: TenantDb, buckets: Buckets): FragmentSqlToken {
  const { campaignId, lineId, userId } = buckets.filter;
  return sql.fragment`
    pending as materialized (
      select address, metric, width_bucket(at, ${STARTS}) bucket, sum(change)::int change from analytics_changes
      where ${sql.and([
        sql.fragment`workspace_id = ${workspaceId} and metric <> 'positive' and exists (select from progress)`,
        sql.fragment`at >= ${first(buckets)} and at < ${last(buckets)}`,
        campaignId !== undefined && sql.fragment`campaign_id = ${campaignId}`,
        lineId !== undefined && sql.fragment`line_id = ${lineId}`,
        userId !== undefined && sql.fragment`user_id = ${userId}`,
      ])}
      group by address, metric, bucket having sum(change) <> 0
    ),
    moods as materialized (
      select address, ${isPositive(workspaceId)} is_positive from (
        select address from analytics_changes
        where workspace_id = ${workspaceId} and metric = 'positive' and exists (select from progress)
        group by address having sum(change) <> 0
      ) c
    )`;
}

const first = ({ bounds }: Buckets) => sql.fragment`${bounds[0] ?? ''}::timestamptz`;
const last = ({ bounds }: Buckets) => sql.fragment`${bounds.at(-1) ?? ''}::timestamptz`;

const isPositive = (workspaceId: string): FragmentSqlToken => sql.fragment`exists (
  select from conversations v where v.workspace_id = ${workspaceId} and v.address = c.address and is_positive(v.tags))`;

/**
 * The common table expression `changed`: what is to be added to the counts of each bucket. Whether a contact is one more, or one
 * fewer, depends on all of its messages in the bucket. Requires `buckets`, `pending`,
 * `moods` and `usable`.
 */
export function changed({ workspaceId }: TenantDb, buckets: Buckets): FragmentSqlToken {
  const of = { workspaceId, address: sql.fragment`c.address`, filter: buckets.filter };
  /** 1: all that the contact has in the bucket was added since. -1: it has nothing left there. */
  const newContacts = (metric: string, facts: FragmentSqlToken) => sql.fragment`
    select bucket, address, case when change > 0 then (has = change)::int else -(has = 0)::int end change
    from pending c, lateral (
      select count(*) has from (
        select from (${facts}) f where at >= ${BOUNDS}[bucket] and at < ${BOUNDS}[bucket + 1] limit greatest(change, 0) + 1
      ) l
    ) h where metric = ${metric} and exists (select from usable)`;
  const messages = (metric: string) => sql.fragment`sum(change) filter (where metric = ${metric})`;
  return sql.fragment`
    changed as (
      select bucket, 0::bigint reached, ${messages('sent')} sent, ${messages('fallback')} fallback, ${messages('failed')} failed,
        ${messages('replied')} replied, 0::bigint unique_replied, 0::bigint positive_replied
      from pending group by bucket
      union all
      select bucket, sum(change), 0, 0, 0, 0, 0, 0 from (${newContacts('sent', sentTo(of))}) c group by bucket
      union all
      select bucket, 0, 0, 0, 0, 0, sum(change), sum(change) filter (where moods.address is null and ${isPositive(workspaceId)})
      from (${newContacts('answered', repliesOf(of))}) c left join moods using (address) group by bucket
      union all
      select bucket, 0, 0, 0, 0, 0, 0, sum((has > 0 and is_positive)::int - (has > change and not is_positive)::int)
      from (
        select bucket, address, is_positive, sum(has) has, sum(change) change from (
          select width_bucket(at, ${STARTS}) bucket, address, is_positive, 1 has, 0 change
          from moods c, lateral (${repliesOf(of)}) f
          where at >= ${first(buckets)} and at < ${last(buckets)} and exists (select from usable)
          union all
          select bucket, address, is_positive, 0, change from pending join moods using (address) where metric = 'answered'
        ) f group by bucket, address, is_positive
      ) c group by bucket
    )`;
}
