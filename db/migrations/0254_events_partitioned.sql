alter table events rename to events_before;
alter index events_pkey rename to events_before_pkey;
alter index events_age rename to events_before_age;

create table events (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  event text not null,
  message_id object_id,
  body text not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
) partition by range (id);
call tenant_table('events');

-- Partitions are reached through their table only.
revoke all on events_before from linepace_tenant, linepace_system;
do $$
begin
  execute format('alter table events attach partition events_before for values from (minvalue) to (%L)',
    (select substring(pg_get_constraintdef(oid) from '[0-9a-f]{24}') from pg_constraint where conname = 'events_bounded'));
end $$;
alter table events_before drop constraint events_bounded;

-- Takes what no day's partition takes, e.g. when none was made for a week: nothing fails for it.
create table events_rest partition of events default;
alter table events_rest enable row level security, force row level security;
do $$
begin
  execute format('create policy owner on events_rest to %I using (current_setting(''app.migrating'', true) = ''on'')', current_user);
end $$;

-- Makes the partitions of today and the next days, and drops those whose last day is so many days ago. Only the owner of a
-- table may do that, so it runs as the owner. Whoever waits for the table waits 2 seconds at most; then it is tried again
-- the next time.
create function keep_event_partitions(days_ahead integer, days_kept integer) returns void language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  today timestamptz := date_trunc('day', now(), 'UTC');
  oldest text := first_id(now() - make_interval(days => days_kept));
  partition record;
  day timestamptz;
  name text;
begin
  for ahead in 0..days_ahead loop
    day := today + make_interval(days => ahead);
    name := 'events_' || to_char(day at time zone 'UTC', 'YYYYMMDD');
    continue when to_regclass(name) is not null;
    begin
      execute format('create table %I partition of events for values from (%L) to (%L)', name, first_id(day), first_id(day + interval '24 hours'));
      execute format('alter table %I enable row level security, force row level security', name);
    exception
      when invalid_object_definition then null; -- the day is in events_before
      when check_violation then null; -- events of the day are in events_rest already: the others join them
    end;
  end loop;
  for partition in
    select c.oid::regclass as name, substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \(''([0-9a-f]{24})''\)') as before
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'events'::regclass
  loop
    if partition.before <= oldest then
      execute format('drop table %s', partition.name);
    end if;
  end loop;
  perform set_config('app.migrating', 'on', true);
  delete from events_rest where id < oldest;
  perform set_config('app.migrating', '', true);
end $$;
revoke execute on function keep_event_partitions from public;
grant execute on function keep_event_partitions to linepace_system;
select keep_event_partitions(7, 30);
