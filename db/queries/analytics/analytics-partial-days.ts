import { sql } from 'slonik';
import { type AnalyticsFilter, closestDays, type Span } from '#domain/analytics/analytics.ts';
import { Counts } from '#domain/analytics/metrics.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { dayCounts } from './analytics-cells.ts';
import {
  boundOf,
  COUNTED,
  FALLEN_BACK,
  inboundFilter,
  justAfter,
  outboundFilter,
  repliesOf,
  SENT,
  sentTo,
} from './analytics-filters.ts';

/** Looking up a contact takes as long as reading this many messages. */
const MESSAGES_PER_CONTACT = 15;

/**
 * The counts of a range that begins or ends within a day: those of the closest whole days, and the messages of the parts by
 * which it differs from them. A contact of an added part is one more unless it is also one of the days; one of a
 * removed part is one fewer unless it is also one of the range. One statement, so that all of it is of one moment.
 * @param timeZone of the workspace.
 * @returns null if messages have to be read.
 */
export async function countsWithPartialDays(
  db: TenantDb,
  filter: AnalyticsFilter,
  timeZone: string,
): Promise<Counts | null> {
  const closest = closestDays(filter, timeZone);
  if (closest === null) return null;
  const counted = dayCounts(db, { filter, spans: [closest.days] }, timeZone);
  const parts = [
    ...closest.added.map((part) => ({ part, change: 1, others: closest.days })),
    ...closest.removed.map((part) => ({ part, change: -1, others: filter })),
  ];
  if (
    counted === null ||
    parts.length === 0 ||
    MESSAGES_PER_CONTACT * length(parts.map(({ part }) => part)) > length([filter])
  )
    return null;
  const { workspaceId } = db;
  const others = ({ from, to }: Span) => sql.fragment`
    ${from ? boundOf(from) : '-infinity'}::timestamptz others_from, ${to ? boundOf(justAfter(to)) : 'infinity'}::timestamptz others_end`;
  const rows = await db.any(sql.type(Counts)`
    with ${counted},
    sent as (
      select address, change, others_from, others_end, count(*) filter (where is_sent) sent,
        count(*) filter (where is_fallback) fallback, count(*) filter (where is_failed) failed
      from (${sql.join(
        parts.map(
          (of) => sql.fragment`
            select m.address, ${of.change}::int change, ${others(of.others)}, ${SENT} is_sent, ${FALLEN_BACK} is_fallback, m.status = 'failed' is_failed
            from messages m
            where ${sql.and([sql.fragment`m.workspace_id = ${workspaceId}`, COUNTED, ...outboundFilter({ ...filter, ...of.part })])}`,
        ),
        sql.fragment` union all `,
      )}) m group by address, change, others_from, others_end
    ),
    replied as (
      select address, change, others_from, others_end, count(*) replied, bool_or(not auto_reply) answered
      from (${sql.join(
        parts.map(
          (of) => sql.fragment`
            select i.address, ${of.change}::int change, ${others(of.others)}, i.auto_reply from inbound_messages i
            where ${sql.and([sql.fragment`i.workspace_id = ${workspaceId}`, ...inboundFilter({ ...filter, ...of.part })])}`,
        ),
        sql.fragment` union all `,
      )}) i group by address, change, others_from, others_end
    ),
    outbound as (
      select coalesce(sum(change * sent), 0)::bigint sent, coalesce(sum(change * fallback), 0)::bigint fallback,
        coalesce(sum(change * failed), 0)::bigint failed,
        coalesce(sum(change) filter (where sent > 0 and not exists (
          select from (${sentTo({ workspaceId, address: sql.fragment`sent.address`, filter })}) f
          where at >= others_from and at < others_end
        )), 0) reached
      from sent
    ),
    inbound as (
      select coalesce(sum(change * replied), 0)::bigint replied, coalesce(sum(change) filter (where is_new), 0) unique_replied,
        coalesce(sum(change) filter (where is_new and is_positive), 0) positive_replied
      from (
        select change, replied, answered and not exists (
            select from (${repliesOf({ workspaceId, address: sql.fragment`replied.address`, filter })}) f
            where at >= others_from and at < others_end
          ) is_new,
          exists (
            select from conversations c
            where c.workspace_id = ${workspaceId} and c.address = replied.address and is_positive(c.tags)) is_positive
        from replied
      ) r
    )
    select d.reached + o.reached reached, d.sent + o.sent sent, d.fallback + o.fallback fallback, d.failed + o.failed failed,
      d.replied + i.replied replied, d.unique_replied + i.unique_replied unique_replied,
      d.positive_replied + i.positive_replied positive_replied
    from cell_counts d, outbound o, inbound i`);
  return rows[0] ?? null;
}

/** In milliseconds. */
const length = (spans: readonly Span[]): number =>
  spans.reduce((sum, { from, to }) => sum + (from && to ? to.getTime() + 1 - from.getTime() : Infinity), 0);
