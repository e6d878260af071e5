-- Events in one order, in which a stream can be resumed. Ids do not give one: they are made before the commit, in many
-- processes. Who emits an event says so here, and one process after another publishes what was committed since the last
-- batch (db/commands/outbox/publish-events.ts).
create sequence emission_number;
grant usage on sequence emission_number to linepace_tenant, linepace_system;

-- What was emitted, by transaction. Without a foreign key, as the event in the same transaction has one. Dropped after days.
create table emitted_events (
  transaction_id xid8 not null default pg_current_xact_id(),
  id object_id not null,
  workspace_id text not null,
  number bigint not null default nextval('emission_number'), -- of two transactions that waited for one another, the later one's is higher
  primary key (transaction_id, id)
) partition by range (id);
call tenant_table('emitted_events');
create table emitted_events_rest partition of emitted_events default;

-- What was published. Positions become visible in their order. Without a foreign key: no lock on a workspace holds up the others.
create table published_events (
  workspace_id text not null,
  id object_id not null,
  position bigint not null,
  primary key (workspace_id, id)
) partition by range (id);
create index published_events_position on published_events (workspace_id, position);
call tenant_table('published_events');
create table published_events_rest partition of published_events default;

-- Publications, of the last minutes. The newest says what was published so far.
create table event_batches (
  position bigint primary key, -- of its last event
  snapshot pg_snapshot not null, -- all that was committed before it is published
  workspace_ids text[] not null, -- whose events it has
  published_at timestamptz not null default now()
);
call system_table('event_batches');
insert into event_batches (position, snapshot, workspace_ids) values (0, pg_current_snapshot(), '{}');

-- As before, and for these tables.
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
  if table_name not in ('events', 'emitted_events', 'published_events', 'webhook_deliveries', 'carrier_events') then
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
declare
  name text;
begin
  foreach name in array array['emitted_events', 'published_events'] loop
    execute format('alter table %I enable row level security, force row level security', name || '_rest');
    execute format('create policy owner on %I to %I using (current_setting(''app.migrating'', true) = ''on'')', name || '_rest', current_user);
    perform keep_partitions(name, 7, 30);
  end loop;
end $$;

-- Streams that are open, each with its holder: a key or a user, of whom each may have so many.
create unlogged table event_streams (
  id object_id primary key,
  holder text not null,
  seen_at timestamptz not null default now()
);
create index event_streams_holder on event_streams (holder);
call system_table('event_streams');
