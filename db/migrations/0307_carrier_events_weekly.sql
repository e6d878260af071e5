-- Whoever stores a carrier's event looks for it in all partitions, which costs as much as there are. Those for a week each
-- are a fifth of those for a day.
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
  if table_name not in ('events', 'webhook_deliveries', 'carrier_events') then
    raise exception '% has no partitions of days', table_name;
  end if;

  select max(before) into made from partitions_of(table_name);
  for ahead in 0..days_ahead loop
    day := date_trunc('day', now(), 'UTC') + make_interval(hours => 24 * ahead);
    continue when day_bound(table_name, day) < made;
    name := table_name || '_' || to_char(day at time zone 'UTC', 'YYYYMMDD');
    made := day_bound(table_name, day + width);
    -- Its foreign key needs this: a workspace is locked before what is in it.
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
