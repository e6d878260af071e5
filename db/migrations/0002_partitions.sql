-- Tables that are partitioned by day, so that deleting old data costs no work per row.

-- The first id of a time; ids begin with their time.
create function first_id(at timestamptz) returns text language sql immutable parallel safe
  return lpad(to_hex(extract(epoch from at)::bigint), 8, '0') || repeat('0', 16);

-- The text of a day as a partition bound: ids begin with their time, carrier events have the day. Both sort as
-- text.
create function day_bound(table_name text, day timestamptz) returns text language sql immutable parallel safe
  return case table_name when 'carrier_events' then to_char(day at time zone 'UTC', 'YYYY-MM-DD') else first_id(day) end;

-- The partitions of a table, each with its upper bound; null for the default partition.
create function partitions_of(table_name text) returns table (name text, before text) language sql stable set datestyle = 'ISO'
  begin atomic
    select c.relname, substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \(''([^'']+)''\)')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass(table_name);
  end;

-- Creates the partitions of today and the next days, and drops those whose last day is a number of days ago. Only the owner of a
-- table may do that, so it runs as the owner. One table at a time, because transactions that use two of them could deadlock. It
-- waits at most 2 seconds for the table, otherwise the next run tries again.
-- Storing a carrier's event looks it up in all partitions, which costs time per partition: weekly partitions are
-- a fifth of daily ones.
create function keep_partitions(table_name text, days_ahead integer, days_kept integer) returns void
  language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '2s' set datestyle = 'ISO' as $$
declare
  width interval := case table_name when 'carrier_events' then interval '168 hours' else interval '24 hours' end;
  oldest text := day_bound(table_name, now() - make_interval(days => days_kept));
  made text;
  day timestamptz;
  name text;
  partition record;
begin
  if to_regclass(table_name || '_rest') is null then
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
  perform set_local('app.migrating', 'on');
  execute format('delete from %I where %I < %L', table_name || '_rest',
    case table_name when 'carrier_events' then 'received_on' else 'id' end, oldest);
  perform set_local('app.migrating', '');
end $$;
revoke execute on function keep_partitions from public;
grant execute on function keep_partitions to linepace_system;

-- Called for every table that is partitioned by day: creates its first partitions, and the default one, which takes rows that no other
-- partition takes, for example if none was created for a week, so that nothing fails. Workers create later ones. Partitions are
-- accessed only through their table.
create procedure daily_table(table_name text) language plpgsql as $$
declare
  rest text := table_name || '_rest';
begin
  execute format('create table %I partition of %I default', rest, table_name);
  execute format('alter table %I enable row level security, force row level security', rest);
  execute format('create policy owner on %I to %I using (current_setting(''app.migrating'', true) = ''on'')', rest, current_user);
  perform keep_partitions(table_name, 7, 30);
end $$;
revoke execute on procedure daily_table from public;
