import { type CommonQueryMethods, type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { type AnalyticsFilter, innerDays, type Span, wholeDays } from '#domain/analytics.ts';
import type { Bounds } from '#domain/calendar.ts';
import { Counts, NO_COUNTS, POSITIVE_TAGS } from '#domain/metrics.ts';
import { NoRows } from '#db/rows.ts';
import type { SystemDb, TenantDb } from '#db/transactions.ts';
import { countsOfDays, dayCounts, type Subject } from './analytics-days.ts';

/** The exact counts of a workspace. @param timezone of the workspace. */
export async function countMessages(
  db: TenantDb,
  filter: AnalyticsFilter,
  timezone: string,
): Promise<Counts> {
  const [counts] = (await countDays(db, filter, [filter], timezone)) ?? [];
  return counts ?? (await countCutDays(db, filter, timezone)) ?? countRange(db, filter);
}

async function countRange(db: TenantDb, filter: AnalyticsFilter): Promise<Counts> {
  const counts = await count(db, [db.workspaceId], filter, () => sql.fragment`''`);
  return counts.get('') ?? NO_COUNTS;
}

/** @returns null if the spans do not cover whole days, or days are not counted for these filters: messages have to be read. */
async function countDays(
  db: TenantDb,
  filter: AnalyticsFilter,
  spans: readonly Span[],
  timeZone: string,
): Promise<Counts[] | null> {
  const subject = subjectOf(db, filter);
  const days = wholeDays(spans, timeZone);
  return subject === null || days === null ? null : countsOfDays(db, { subject, timeZone, days });
}

/**
 * The counts of a range whose first or last day is cut: those of the whole days in between, and of the messages of the others.
 * A contact of these is one more unless it is one of the days in between. One statement, so that all of it is of one moment.
 * @returns null if messages have to be read.
 */
async function countCutDays(db: TenantDb, filter: AnalyticsFilter, timeZone: string): Promise<Counts | null> {
  const subject = subjectOf(db, filter);
  const inner = innerDays(filter, timeZone);
  const days = inner && wholeDays([inner], timeZone);
  const edges = inner ? edgesOf(filter, inner) : [];
  if (!subject || !inner || !days || edges.length === 0 || isShort(inner)) return null;
  const { workspaceId } = db;
  const within = { ...filter, from: inner.from, to: inner.to };
  const rows = await db.any(sql.type(Counts)`
    with ${dayCounts(db, { subject, timeZone, days })},
    sent as (
      select address, count(*) filter (where is_sent) sent, count(*) filter (where is_fallback) fallback,
        count(*) filter (where is_failed) failed
      from (${sql.join(
        edges.map(
          (edge) => sql.fragment`
            select m.address, ${SENT} is_sent, ${FALLEN_BACK} is_fallback, m.status = 'failed' is_failed from messages m
            where ${sql.and([sql.fragment`m.workspace_id = ${workspaceId}`, COUNTED, ...outboundFilter({ ...filter, ...edge })])}`,
        ),
        sql.fragment` union all `,
      )}) m group by address
    ),
    replied as (
      select address, count(*) replied, bool_or(not auto_reply) answered
      from (${sql.join(
        edges.map(
          (edge) => sql.fragment`
            select i.address, i.auto_reply from inbound_messages i
            where ${sql.and([sql.fragment`i.workspace_id = ${workspaceId}`, ...inboundFilter({ ...filter, ...edge })])}`,
        ),
        sql.fragment` union all `,
      )}) i group by address
    ),
    outbound as (
      select coalesce(sum(sent), 0)::bigint sent, coalesce(sum(fallback), 0)::bigint fallback, coalesce(sum(failed), 0)::bigint failed,
        count(*) filter (where sent > 0 and not exists (
          select from messages m
          where ${sql.and([sql.fragment`m.workspace_id = ${workspaceId} and m.address = sent.address`, SENT, ...outboundFilter(within)])}
        )) reached
      from sent
    ),
    inbound as (
      select coalesce(sum(replied), 0)::bigint replied, count(*) filter (where is_new) unique_replied,
        count(*) filter (where is_new and is_positive) positive_replied
      from (
        select replied, answered and not exists (
            select from inbound_messages i
            where ${sql.and([
              sql.fragment`i.workspace_id = ${workspaceId} and i.address = replied.address and not i.auto_reply`,
              ...inboundFilter(within),
            ])}
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
    from day_counts d, outbound o, inbound i`);
  return rows[0] ?? null;
}

/** Reading all messages of so few days is faster than looking up each contact of a cut day in them. */
const isShort = ({ from, to }: Span): boolean =>
  from !== undefined && to !== undefined && to.getTime() - from.getTime() < 30 * 86_400_000;

/** What a span has before and after its inner days. */
const edgesOf = ({ from, to }: Span, inner: Span): Span[] => [
  ...(from && inner.from && from < inner.from ? [{ from, to: new Date(inner.from.getTime() - 1) }] : []),
  ...(to && inner.to && to > inner.to ? [{ from: new Date(inner.to.getTime() + 1), to }] : []),
];

/** @returns null if there are several. */
function subjectOf(db: TenantDb, { lineId, campaignId, userId }: AnalyticsFilter): Subject | null {
  const subjects: Subject[] = [
    ...(lineId === undefined ? [] : [{ table: 'lines', id: lineId } as const]),
    ...(campaignId === undefined ? [] : [{ table: 'campaigns', id: campaignId } as const]),
    ...(userId === undefined ? [] : [{ table: null, id: userId }]),
  ];
  const [subject = { table: null, id: db.workspaceId }, ...others] = subjects;
  return others.length > 0 ? null : subject;
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
 * @param timezone in which they are days or weeks.
 */
export async function countByBucket(
  db: TenantDb,
  filter: AnalyticsFilter,
  buckets: readonly Bounds[],
  timezone: string,
): Promise<Counts[]> {
  // Only the first and the last bucket can be cut by the filter's bounds.
  const spans = buckets.map(({ start, end }) => ({
    from: filter.from !== undefined && filter.from > start ? filter.from : start,
    to: filter.to !== undefined && filter.to < end ? filter.to : new Date(end.getTime() - 1),
  }));
  const isCut = (span: Span | undefined): boolean =>
    span !== undefined && wholeDays([span], timezone) === null;
  const first = isCut(spans[0]) ? 1 : 0;
  const end = Math.max(first, isCut(spans.at(-1)) ? spans.length - 1 : spans.length);
  const counts = first === end ? null : await countDays(db, filter, spans.slice(first, end), timezone);
  if (counts === null) return countByTime(db, filter, buckets);
  const countCut = (cut: readonly Span[]) =>
    Promise.all(cut.map((span) => countRange(db, { ...filter, ...span })));
  return [...(await countCut(spans.slice(0, first))), ...counts, ...(await countCut(spans.slice(end)))];
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

const SENT = sql.fragment`m.status in ('sent', 'delivered')`;
const FALLEN_BACK = sql.fragment`(m.status = 'fallback' or m.fallback_sms = 'dispatched')`;
/** All messages that any metric counts. Must match the predicate of the partial index `messages_counted`. */
const COUNTED = sql.fragment`(m.status in ('sent', 'delivered', 'fallback', 'failed') or m.fallback_sms = 'dispatched')`;

/**
 * Groups by contact first, because PostgreSQL can hash that, whereas `count(distinct)` sorts. Reads only columns of the
 * covering indexes (migrations 0130 to 0132); see docs/analytics.md for the effect.
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
    select set_config('work_mem', '64MB', true), set_config('statement_timeout', '120s', true)`);
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

function outboundFilter({ campaignId, lineId, userId, from, to }: AnalyticsFilter) {
  return [
    campaignId !== undefined && sql.fragment`m.campaign_id = ${campaignId}`,
    lineId !== undefined && sql.fragment`m.line_id = ${lineId}`,
    userId !== undefined && sql.fragment`m.created_by_user_id = ${userId}`,
    from !== undefined && sql.fragment`m.created_at >= ${sql.timestamp(from)}`,
    to !== undefined && sql.fragment`m.created_at < ${justAfter(to)}`,
  ];
}

/** The API truncates times to milliseconds; a message that it shows at `to` is included. */
const justAfter = (to: Date) => sql.timestamp(new Date(to.getTime() + 1));

/** A reply is attributed to the user who created the message that it answers. */
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
