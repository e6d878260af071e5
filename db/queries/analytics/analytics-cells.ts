import { type FragmentSqlToken, sql } from 'slonik';
import { type AnalyticsFilter, type Span, wholeDays, wholeHours } from '#domain/analytics/analytics.ts';
import { Counts } from '#domain/analytics/metrics.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { boundOf, justAfter } from './analytics-filters.ts';
import { bucketBounds, type Buckets, changed, pending, STARTS } from './analytics-pending.ts';

/** Adding up to this many changes is always fast. */
const FEW_CHANGES = 3000;
/** Adding a change takes as long as reading this many messages. */
const MESSAGES_PER_CHANGE = 20;

/** Contiguous spans whose messages with these properties are counted. */
interface Question {
  /** Its bounds are not used. */
  filter: AnalyticsFilter;
  spans: readonly Span[];
}

/**
 * Counts from daily metrics.
 * @param timeZone the time zone of the days.
 * @returns null if messages have to be read: a span begins or ends within a day, several filters are given, there is no such
 * line or campaign any more, the days of the workspace are not counted in this time zone, or much has changed since.
 */
export async function countsOfDays(
  db: TenantDb,
  question: Question,
  timeZone: string,
): Promise<Counts[] | null> {
  const cells = dayCells(db, question, timeZone);
  return cells && countCells(db, question, cells, timeZone);
}

/**
 * Counts from the workspace's hourly metrics.
 * @param timeZone of the workspace. That of the spans may be another, if its hours are the same.
 * @returns null if messages have to be read: a span is not one hour, there is any filter, or as `countsOfDays`.
 */
export async function countsOfHours(
  db: TenantDb,
  question: Question,
  timeZone: string,
): Promise<Counts[] | null> {
  const cells = hourCells(db, question, timeZone);
  return cells && countCells(db, question, cells, timeZone);
}

async function countCells(
  db: TenantDb,
  question: Question,
  cells: FragmentSqlToken,
  timeZone: string,
): Promise<Counts[] | null> {
  const rows = await db.any(sql.type(Counts)`
    with ${cellCounts(db, question, cells, timeZone)}
    select ${COLUMNS} from cell_counts order by bucket`);
  return rows.length === 0 ? null : [...rows];
}

const COLUMNS = sql.fragment`reached, sent, fallback, failed, replied, unique_replied, positive_replied`;

/** Common table expressions that end with `cell_counts`, as `countsOfDays`; null likewise, or there are no rows. */
export function dayCounts(db: TenantDb, question: Question, timeZone: string): FragmentSqlToken | null {
  const cells = dayCells(db, question, timeZone);
  return cells && cellCounts(db, question, cells, timeZone);
}

/** A query of the metrics, contacts and messages of each bucket. */
function dayCells(db: TenantDb, { filter, spans }: Question, timeZone: string): FragmentSqlToken | null {
  const subjectId = subjectOf(db, filter);
  const days = wholeDays(spans, timeZone);
  if (subjectId === null || days === null) return null;
  const starts = sql.array([...days.starts], sql.fragment`date[]`);
  // A contact of a span has one day in it whose previous day is before it.
  return sql.fragment`
    select bucket, metric, case when previous_day < (${starts})[bucket] then contacts else 0 end contacts, messages
    from analytics_days, lateral (select width_bucket(day, ${starts}) bucket) b
    where workspace_id = ${db.workspaceId} and subject_id = ${subjectId} and day >= (${starts})[1] and day < ${days.end}::date`;
}

/** As `dayCells`. Requires `buckets`. */
function hourCells(db: TenantDb, { filter, spans }: Question, timeZone: string): FragmentSqlToken | null {
  const hours = wholeHours(spans, timeZone);
  if (hours === null || subjectOf(db, filter) !== db.workspaceId) return null;
  const bound = (index: number) => sql.fragment`${hours.at(index)?.toISOString() ?? ''}::timestamptz`;
  return sql.fragment`
    select width_bucket(hour, ${STARTS}) bucket, metric, contacts, messages
    from analytics_hours where workspace_id = ${db.workspaceId} and hour >= ${bound(0)} and hour <= ${bound(-1)}`;
}

/** A line, a campaign, a user, or the workspace. @returns null if there are several. */
function subjectOf(db: TenantDb, { lineId, campaignId, userId }: AnalyticsFilter): string | null {
  const [id = db.workspaceId, ...others] = [lineId, campaignId, userId].filter((id) => id !== undefined);
  return others.length > 0 ? null : id;
}

/** Common table expressions that end with `cell_counts`: the counts of each bucket, from its cells and what changed since. */
function cellCounts(
  db: TenantDb,
  question: Question,
  cells: FragmentSqlToken,
  timeZone: string,
): FragmentSqlToken {
  const { workspaceId } = db;
  const buckets = bucketsOf(question);
  const contacts = (metric: string) =>
    sql.fragment`coalesce(sum(contacts) filter (where metric = ${metric}), 0)`;
  const messages = (metric: string) =>
    sql.fragment`coalesce(sum(messages) filter (where metric = ${metric}), 0)`;
  return sql.fragment`
    ${bucketBounds(buckets)},
    progress as materialized (
      select from analytics_progress where workspace_id = ${workspaceId} and is_complete and time_zone = ${timeZone}
        and ${exists(db, question.filter)}
    ),
    counted as materialized (
      select bucket, ${contacts('sent')} reached, ${messages('sent')} sent, ${messages('fallback')} fallback,
        ${messages('failed')} failed, ${messages('replied')} replied, ${contacts('answered')} unique_replied,
        ${contacts('positive')} positive_replied
      from (${cells}) c group by bucket
    ),
    ${pending(db, buckets)},
    usable as materialized (
      select from progress where (select count(*) from pending) + (select count(*) from moods)
        <= greatest(${FEW_CHANGES}, (select sum(sent + failed + replied) from counted) / ${MESSAGES_PER_CHANGE})
    ),
    ${changed(db, buckets)},
    cell_counts as (
      select bucket, ${sql.join(
        Object.keys(Counts.shape).map((name) => {
          const column = sql.identifier([name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]);
          return sql.fragment`coalesce(sum(${column}), 0)::bigint ${column}`;
        }),
        sql.fragment`, `,
      )}
      from usable, generate_series(1, ${question.spans.length}::int) bucket
      left join (select bucket, ${COLUMNS} from counted union all select bucket, ${COLUMNS} from changed) c using (bucket)
      group by bucket
    )`;
}

/** The id of a line is not the one of a campaign. */
function exists({ workspaceId }: TenantDb, { lineId, campaignId }: AnalyticsFilter): FragmentSqlToken {
  const isIn = (table: string, id: string) => sql.fragment`exists (
    select from ${sql.identifier([table])} where workspace_id = ${workspaceId} and id = ${id})`;
  if (lineId !== undefined) return isIn('lines', lineId);
  return campaignId === undefined ? sql.fragment`true` : isIn('campaigns', campaignId);
}

function bucketsOf({ filter, spans }: Question): Buckets {
  const to = spans.at(-1)?.to;
  return {
    filter,
    bounds: [
      ...spans.map(({ from }) => (from ? boundOf(from) : '-infinity')),
      to ? boundOf(justAfter(to)) : 'infinity',
    ],
  };
}
