-- Metrics of the workspace by the hour, for series (docs/analytics.md).
create table analytics_hours (
  workspace_id text not null,
  hour timestamptz not null, -- in which it starts, in the time zone of `analytics_progress`
  metric text not null check (metric in ('sent', 'fallback', 'failed', 'replied', 'answered', 'positive')),
  contacts integer not null,
  messages integer not null,
  primary key (workspace_id, hour, metric)
) with (fillfactor = 90);
call tenant_table('analytics_hours');

-- All are counted anew, now by the hour as well.
update analytics_progress set is_complete = false, counted_to = '';

-- Processes of earlier releases would count the days only. Theirs fail, and the changes wait for a process of this one.
create function forbid_counting_without_hours() returns trigger language plpgsql as $$
begin
  if current_setting('app.counts_hours', true) is distinct from 'on' then
    raise exception 'metrics are counted by the day and by the hour' using errcode = 'restrict_violation';
  end if;
  return null;
end $$;
-- old processes: their readers add changes that are not counted yet; whoever counts them tries again until he is replaced.
create trigger forbid_counting_without_hours after delete on analytics_changes for each row
  execute function forbid_counting_without_hours();
-- old processes: as above.
create trigger forbid_counting_without_hours after update on analytics_progress for each row
  execute function forbid_counting_without_hours();
