import { type FragmentSqlToken, sql } from 'slonik';
import type { Days } from '#domain/analytics.ts';
import { offsetsOf } from '#domain/calendar.ts';
import { Counts } from '#domain/metrics.ts';
import type { TenantDb } from '#db/transactions.ts';

/** Three metrics count a contact once; of the others only messages are counted. */
const PREVIOUS_DAY = sql.fragment`case when metric in ('sent', 'answered', 'positive')
  then coalesce(lag(day) over (partition by subject_id, metric order by day), '-infinity') else '-infinity' end`;

/** As the rules have it, because PostgreSQL may know other time zones, and takes `CET` for winter time all year. */
function localDay(at: FragmentSqlToken, timeZone: string): FragmentSqlToken {
  const { since, seconds } = offsetsOf(timeZone);
  const starts = sql.array(
    since.map((date) => date.toISOString()),
    'timestamptz',
  );
  const offset = sql.fragment`(${sql.array([...seconds], 'int4')})[greatest(1, width_bucket(${at}, ${starts}))]`;
  return sql.fragment`(${at} at time zone 'UTC' + ${offset} * interval '1 second')::date`;
}

/** Contacts to count. */
export interface Recount {
  workspaceId: string;
  timeZone: string;
  /** A statement that returns the `address` of each. */
  contacts: FragmentSqlToken;
  /** Whether `analytics_days` has them already, as they were before what is in `analytics_changes`. */
  areCounted: boolean;
}

/**
 * Common table expressions that end with `cells`: what is to be added to `analytics_days` so that it counts the contacts as
 * they are. One statement reads everything, so that messages and changes are of the same moment, and each contact by itself,
 * because nothing tells the planner how many there are.
 */
export const recount = ({ workspaceId, timeZone, contacts, areCounted }: Recount) => sql.fragment`
  contact as materialized (${contacts}),
  cells as (
    select subject_id, day, metric, previous_day, sum(contacts)::int contacts, sum(messages)::int messages
    from contact, lateral (
      with mood as (
        select positive "now", positive <> (changes <> 0) "before"
        from (select
          coalesce((select is_positive(tags) from conversations
            where workspace_id = ${workspaceId} and address = contact.address), false) positive,
          coalesce((select sum(change) from analytics_changes
            where workspace_id = ${workspaceId} and address = contact.address and metric = 'positive'), 0) changes
        ) m
      ),
      counted as (
        select subject_id, metric, ${localDay(sql.fragment`at`, timeZone)} "day", sum("now")::int "now", sum("before")::int "before"
        from (
          select m.line_id, m.campaign_id, m.created_by_user_id user_id, metric, m.created_at at, 1 "now", ${areCounted ? 1 : 0}::int "before"
          from messages m, unnest(message_metrics(m.status, m.fallback_sms)) metric
          where m.workspace_id = ${workspaceId} and m.address = contact.address
          union all
          select i.line_id, i.campaign_id, m.created_by_user_id, metric, i.received_at, 1, ${areCounted ? 1 : 0}::int
          from inbound_messages i
          left join messages m on m.workspace_id = i.workspace_id and m.id = i.original_message_id
          cross join unnest(reply_metrics(i.auto_reply)) metric
          where i.workspace_id = ${workspaceId} and i.address = contact.address
          union all
          select line_id, campaign_id, user_id, metric, at, 0, -change
          from analytics_changes
          where workspace_id = ${workspaceId} and address = contact.address and metric <> 'positive' and ${areCounted}::boolean
        ) f, lateral (values (${workspaceId}), (line_id), (campaign_id), (user_id)) s (subject_id)
        where subject_id is not null
        group by 1, 2, 3
      ),
      spans as (
        select * from counted
        union all
        select subject_id, 'positive', day, case when m.now then c.now else 0 end, case when m.before then c.before else 0 end
        from counted c, mood m where metric = 'answered' and (m.now or m.before)
      )
      select subject_id, day, metric, ${PREVIOUS_DAY} previous_day, 1 contacts, "now" messages from spans where "now" > 0
      union all
      select subject_id, day, metric, ${PREVIOUS_DAY}, -1, -"before" from spans where "before" > 0
    ) s
    group by subject_id, day, metric, previous_day
    having sum(contacts) <> 0 or sum(messages) <> 0
  )`;

/** With more changes to add, reading the messages is as fast. */
const MOST_CHANGES = 3000;

/** A line, a campaign, a user, or the workspace. */
export interface Subject {
  /** In which there is a row of it: the id of a line is not the one of a campaign. Null: its id says what it is. */
  table: 'lines' | 'campaigns' | null;
  id: string;
}

/** Contiguous spans of whole days in a time zone. */
interface DaysOf {
  subject: Subject;
  timeZone: string;
  days: Days;
}

/**
 * Common table expressions that end with `day_counts`: the counts of each span, by its number. There are none if there is no
 * such subject any more, the days of the workspace are not counted in this time zone, or too much has changed since.
 */
export function dayCounts({ workspaceId }: TenantDb, { subject, timeZone, days }: DaysOf): FragmentSqlToken {
  const isKnown =
    subject.table === null
      ? sql.fragment`true`
      : sql.fragment`exists (
          select from ${sql.identifier([subject.table])} where workspace_id = ${workspaceId} and id = ${subject.id})`;
  const starts = sql.array([...days.starts], sql.fragment`date[]`);
  const within = sql.fragment`day >= (${starts})[1] and day < ${days.end}::date`;
  const count = (column: FragmentSqlToken, condition: FragmentSqlToken) =>
    sql.fragment`coalesce(sum(${column}) filter (where ${condition}), 0)`;
  const messages = (metric: string) => count(sql.fragment`messages`, sql.fragment`metric = ${metric}`);
  const contacts = (metric: string) =>
    count(sql.fragment`contacts`, sql.fragment`metric = ${metric} and previous_day < (${starts})[bucket]`);
  return sql.fragment`
    progress as materialized (
      select from analytics_progress where workspace_id = ${workspaceId} and is_complete and time_zone = ${timeZone}
        and ${isKnown} and not exists (select from analytics_changes where workspace_id = ${workspaceId} offset ${MOST_CHANGES})
    ),
    ${recount({
      workspaceId,
      timeZone,
      contacts: sql.fragment`
        select distinct address from analytics_changes where workspace_id = ${workspaceId} and exists (select from progress)`,
      areCounted: true,
    })},
    day_counts as (
      select bucket, ${contacts('sent')} reached, ${messages('sent')} sent, ${messages('fallback')} fallback,
        ${messages('failed')} failed, ${messages('replied')} replied, ${contacts('answered')} unique_replied,
        ${contacts('positive')} positive_replied
      from progress, generate_series(1, ${days.starts.length}::int) bucket
      left join (
        select width_bucket(day, ${starts}) bucket, metric, previous_day, contacts, messages
        from (
          select day, metric, previous_day, contacts, messages from analytics_days
          where workspace_id = ${workspaceId} and subject_id = ${subject.id} and ${within}
          union all
          select day, metric, previous_day, contacts, messages from cells where subject_id = ${subject.id} and ${within}
        ) d
      ) c using (bucket)
      group by bucket
    )`;
}

/** @returns null if the days cannot be used. */
export async function countsOfDays(db: TenantDb, of: DaysOf): Promise<Counts[] | null> {
  const rows = await db.any(sql.type(Counts)`
    with ${dayCounts(db, of)}
    select reached, sent, fallback, failed, replied, unique_replied, positive_replied from day_counts order by bucket`);
  return rows.length === 0 ? null : [...rows];
}
