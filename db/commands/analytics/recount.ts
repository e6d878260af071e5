import { type FragmentSqlToken, sql } from 'slonik';
import { offsetsOf } from '#domain/base/calendar.ts';

/** The last earlier day with the metric. Three metrics count a contact once; of the others, and by the hour, only sums are needed. */
const previousDay = (
  has: FragmentSqlToken,
) => sql.fragment`case when metric in ('sent', 'answered', 'positive') and hour is null
  then coalesce(max(day) filter (where ${has}) over earlier, '-infinity') else '-infinity' end`;

/**
 * From items that end with `l`: the local day of `at`, and the start of its hour, which ends where the clocks change. As the rules
 * have it, because PostgreSQL may know other time zones, and takes `CET` for winter time all year.
 */
function localTime(timeZone: string): FragmentSqlToken {
  const { since, seconds } = offsetsOf(timeZone);
  const starts = sql.array(['-infinity', ...since.slice(1).map((date) => date.toISOString())], 'timestamptz');
  return sql.fragment`
    lateral (select width_bucket(at, ${starts}) period) p,
    lateral (select (${starts})[period] since, (${sql.array([...seconds], 'int4')})[period] * interval '1 second' shift) o,
    lateral (select at at time zone 'UTC' + shift clock) c,
    lateral (select clock::date "day", greatest(since, (date_trunc('hour', clock) - shift) at time zone 'UTC') "hour") l`;
}

/** The contacts to count. */
export interface Recount {
  workspaceId: string;
  timeZone: string;
  /** A statement that returns the `address` of each. */
  contacts: FragmentSqlToken;
  /** Which rows of `analytics_changes` are taken: all those of each `contact`, and those of others that need no counting. */
  taken: FragmentSqlToken;
  /** Whether days and hours already contain them, without the changes in `analytics_changes`. */
  areCounted: boolean;
}

/**
 * Common table expressions, of which `cells` is what is to be added to `analytics_days`, or where there is an hour to
 * `analytics_hours`, so that they count the contacts as they are, and `taken` are the changes that this includes. One select
 * reads both, so that messages and changes are of the same moment: where tables are distributed, each common table expression
 * of a statement that inserts is a query of its own, of a later moment. It reads each contact by itself, because nothing tells
 * the planner how many there are.
 */
export const recount = ({ workspaceId, timeZone, contacts, taken, areCounted }: Recount) => sql.fragment`
  contact as materialized (${contacts}),
  found as materialized (
    select subject_id, day, hour, metric, previous_day, sum(contacts)::int contacts, sum(messages)::int messages,
      null address, null::bigint number
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
        select subject_id, metric, s.day, s.hour, sum("now")::int "now", sum("before")::int "before"
        from (
          select m.line_id, m.campaign_id, m.created_by_user_id user_id, metric, m.created_at at, 1 "now", ${areCounted ? 1 : 0}::int "before"
          from messages m, unnest(message_metrics(m.status, m.fallback_sms)) metric
          where m.workspace_id = ${workspaceId} and m.address = contact.address
          union all
          select i.line_id, i.campaign_id, m.created_by_user_id, metric, i.received_at, 1, ${areCounted ? 1 : 0}::int
          from inbound_messages i
          left join messages m on m.workspace_id = i.workspace_id and m.id = i.original_message_id
          cross join unnest(reply_metrics(i.auto_reply)) metric
          where i.workspace_id = ${workspaceId} and i.address = contact.address and i.counted
          union all
          select line_id, campaign_id, user_id, metric, at, 0, -change
          from analytics_changes
          where workspace_id = ${workspaceId} and address = contact.address and metric <> 'positive' and ${areCounted}::boolean
        ) f, ${localTime(timeZone)}, lateral (values
          (${workspaceId}, l.day, null), (line_id, l.day, null), (campaign_id, l.day, null), (user_id, l.day, null),
          (${workspaceId}, null, l.hour)) s (subject_id, day, hour)
        where subject_id is not null
        group by 1, 2, 3, 4
      ),
      spans as (
        select * from counted
        union all
        select subject_id, 'positive', day, hour, case when m.now then c.now else 0 end, case when m.before then c.before else 0 end
        from counted c, mood m where metric = 'answered' and (m.now or m.before)
      )
      select subject_id, day, hour, metric, v.*
      from (
        select *, ${previousDay(sql.fragment`"now" > 0`)} day_now, ${previousDay(sql.fragment`"before" > 0`)} day_before
        from spans
        window earlier as (partition by subject_id, metric, hour is null order by day rows between unbounded preceding and 1 preceding)
      ) w, lateral (values (day_now, 1, "now"), (day_before, -1, -"before")) v (previous_day, contacts, messages)
      where ("now" <> "before" or day_now <> day_before) and messages <> 0
    ) s
    group by subject_id, day, hour, metric, previous_day
    having sum(contacts) <> 0 or sum(messages) <> 0
    union all
    select null, null, null, null, null, null, null, address, number from analytics_changes
    where workspace_id = ${workspaceId} and ${taken}
  ),
  cells as (select * from found where number is null),
  taken as (select address, number from found where number is not null)`;
