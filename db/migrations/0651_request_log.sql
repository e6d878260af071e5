-- The requests of a workspace: what was called, by whom, and how it ended. No addresses, no queries, no bodies. Rows are
-- written in batches beside the requests, so a foreign key, which would lock the workspace, is left out.
create table request_log (
  workspace_id text not null,
  id object_id not null,
  -- When the response began; of several requests, that of the first.
  at timestamptz not null,
  method text not null,
  -- As the route declares it: /api/messages/{id}.
  path text not null,
  status smallint not null,
  code text,
  request_id text not null,
  actor_type text not null,
  actor_id text,
  actor_name text,
  -- Of several requests, that of the slowest.
  duration_ms integer not null,
  -- Requests of bulk intake that succeeded within seconds share a row.
  count integer not null default 1,
  primary key (workspace_id, id)
) partition by range (id);
-- Most requests succeed, and most who look for one look for those that did not.
create index request_log_failed on request_log (workspace_id, id) where status >= 400;
call tenant_table('request_log');
create table request_log_rest partition of request_log default;

-- As before, and for this table.
create or replace function keep_partitions(table_name text, days_ahead integer, days_kept integer) returns void language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '2s' set datestyle = 'ISO' as $$
declare
  width interval := case table_name when 'carrier_events' then interval '168 hours' else interval '24 hours' end;
  oldest text := day_bound(table_name, now() - make_interval(days => days_kept));
  made text;
  day timestamptz;
  name text;
  partition record;
begin
  if table_name not in ('events', 'emitted_events', 'published_events', 'webhook_deliveries', 'carrier_events', 'request_log') then
    raise exception '% has no partitions of days', table_name;
  end if;

  select max(before) into made from partitions_of(table_name);
  for ahead in 0..days_ahead loop
    day := date_trunc('day', now(), 'UTC') + make_interval(hours => 24 * ahead);
    continue when day_bound(table_name, day) < made;
    name := table_name || '_' || to_char(day at time zone 'UTC', 'YYYYMMDD');
    made := day_bound(table_name, day + width);
    -- A foreign key needs this: a workspace is locked before what is in it.
    lock table workspaces in share row exclusive mode;
    begin
      execute format('create table %I partition of %I for values from (%L) to (%L)', name, table_name, day_bound(table_name, day), made);
      execute format('alter table %I enable row level security, force row level security', name);
    exception
      when check_violation then null; -- rows of these days are in the default partition already: the others join them
    end;
  end loop;

  for partition in select * from partitions_of(table_name) where before <= oldest loop
    execute format('drop table %I', partition.name);
  end loop;
  perform set_config('app.migrating', 'on', true);
  execute format('delete from %I where %I < %L', table_name || '_rest',
    case table_name when 'carrier_events' then 'received_on' else 'id' end, oldest);
  perform set_config('app.migrating', '', true);
end $$;

do $$
begin
  alter table request_log_rest enable row level security, force row level security;
  execute format('create policy owner on request_log_rest to %I using (current_setting(''app.migrating'', true) = ''on'')', current_user);
  perform keep_partitions('request_log', 7, 30);
end $$;
