-- Each workspace gets an order of events of its own, which needs no other workspace: a process publishes its events without waiting
-- for theirs, and a database can be distributed (docs/decisions/0009-events-have-one-order.md).

-- What is published of each workspace. Its row is locked while its events are published.
create table event_publications (
  workspace_id text primary key references workspaces (id) on delete cascade,
  position bigint not null default 0, -- of the last published event
  -- The transactions that have ended according to this are published. It has a meaning on one server only. Null: nothing is known.
  snapshot pg_snapshot,
  server text, -- the identifier of that server
  published_at timestamptz not null default now() -- when nothing was left of what the snapshot has
) with (fillfactor = 50);
call tenant_table('event_publications');

-- The last events with one order for all. All of them are committed, as nobody else has the tables.
-- old processes: cannot publish. Their open streams receive nothing more, and new ones are answered 500, until a client connects to a
-- new process and continues where it was.
lock table event_batches, emitted_events in access exclusive mode;
with last as (
  select position, snapshot from event_batches order by position desc limit 1
), published as (
  insert into published_events (workspace_id, id, position)
  select e.workspace_id, e.id, last.position + row_number() over (order by e.number, e.id)
  from emitted_events e, last
  where e.transaction_id >= pg_snapshot_xmax(last.snapshot) or e.transaction_id = any(array(select pg_snapshot_xip(last.snapshot)))
  on conflict (workspace_id, id) do nothing
  returning position
)
insert into event_publications (workspace_id, position)
select w.id, greatest(last.position, (select max(position) from published)) from workspaces w, last;

-- old processes: as above.
drop table event_batches;
-- old processes: as above.
drop function await_commits;
-- old processes: emit events into the table that follows, whose columns are the same.
drop table emitted_events;

-- Emitted events, by workspace and transaction. Dropped after days.
create table emitted_events (
  workspace_id text not null,
  transaction_id xid8 not null default pg_current_xact_id(),
  id object_id not null,
  number bigint not null default nextval('emission_number'), -- if one transaction waited for another, its number is higher
  primary key (workspace_id, transaction_id, id)
) partition by range (id);
call tenant_table('emitted_events');
call daily_table('emitted_events');

-- The server of this database. Ids of transactions mean nothing on another one.
create function server_identifier() returns text language sql stable
  return (select system_identifier::text from pg_control_system());

-- The lowest id of events that were emitted after a time, by a clock that is wrong by less than a day. It keeps PostgreSQL from opening
-- the partitions of earlier days.
create function first_id_after(published_at timestamptz) returns text language sql immutable
  return first_id(published_at - interval '24 hours');

-- How far the events of workspaces are published. On a cluster the definition differs (db/distribute.ts).
--   pending: whether to publish: committed events have no position yet, or what is known of them is old.
--   shard: workspaces of the same shard can be published in one transaction.
create function publications_of(of_workspaces text[])
  returns table (workspace_id text, "position" bigint, pending boolean, shard bigint)
  language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  here text := server_identifier();
  now_end xid8 := pg_snapshot_xmax(pg_current_snapshot());
  before text := first_id(now() + interval '24 hours');
begin
  return query
  select w.id, coalesce(p.position, 0), case
      when p.server = here and p.published_at > now() - interval '1 hour' then exists (
          select from emitted_events e
          where e.workspace_id = w.id and e.id >= first.id and e.id < before
            and e.transaction_id >= pg_snapshot_xmax(p.snapshot) and e.transaction_id < now_end
        ) or pg_snapshot_xmin(p.snapshot) < pg_snapshot_xmax(p.snapshot) and exists (
          select from emitted_events e
          where e.workspace_id = w.id and e.transaction_id = any(array(select pg_snapshot_xip(p.snapshot)))
        )
      else true
    end, 0::bigint
  from unnest(of_workspaces) w (id)
  left join event_publications p on p.workspace_id = w.id
  cross join lateral (select first_id_after(p.published_at) id offset 0) first;
end $$;

-- Publishes the next events of a workspace, of a backlog some thousand at once: gives positions to the events of transactions that have
-- ended now and had not ended when events were published before. So an event that is committed late, after others with higher ids, is
-- neither missed nor waited for. Batches of a workspace are committed one after the other, so a reader that has read up to a position has
-- read everything before it. Within a batch the order is that of `number`. On a cluster it runs on the node of the workspace.
--   position: of the last published event.
--   more: whether some of a backlog is left.
create function publish_events(of_workspace text, out "position" bigint, out more boolean) language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  at_once int := 5000;
  here text := server_identifier();
  last event_publications;
  was_running xid8[];
  first text;
  before text := first_id(now() + interval '24 hours');
  until pg_snapshot;
  complete xid8;
  assigned bigint;
begin
  loop
    select * into last from event_publications where workspace_id = of_workspace for update;
    exit when found;
    insert into event_publications (workspace_id) values (of_workspace) on conflict do nothing;
  end loop;
  position := last.position;
  first := first_id_after(last.published_at);
  -- After the lock, so that it has what the process saw that published before.
  until := pg_current_snapshot();

  if last.server is distinct from here then
    -- Whatever has no position, of whichever transaction, at once: nothing says how far a part of it got.
    for assigned in
      insert into published_events (workspace_id, id, position)
      select of_workspace, e.id, last.position + row_number() over (order by e.number, e.id)
      from emitted_events e
      where e.workspace_id = of_workspace and (last.server is null or e.id >= first)
      on conflict (workspace_id, id) do nothing
      returning published_events.position
    loop
      position := greatest(position, assigned);
    end loop;
  else
    -- A batch has whole transactions. Those after the one that completes it count as running.
    select (e.transaction_id::text::bigint + 1)::text::xid8 into complete from emitted_events e
    where e.workspace_id = of_workspace and e.id >= first and e.id < before
      and e.transaction_id >= pg_snapshot_xmax(last.snapshot) and e.transaction_id < pg_snapshot_xmax(until)
    order by e.transaction_id offset at_once - 1 limit 1;
    if complete is not null then
      until := (
        select concat(coalesce(min(running), complete), ':', complete, ':', string_agg(running::text, ',' order by running))::pg_snapshot
        from pg_snapshot_xip(until) running where running < complete);
    end if;

    was_running := array(select pg_snapshot_xip(last.snapshot));
    if cardinality(was_running) > 0 then
      -- One that was prepared can take longer than a day.
      first := '';
    end if;
    for assigned in
      insert into published_events (workspace_id, id, position)
      select of_workspace, id, last.position + row_number() over (order by number, id)
      from (
        select e.id, e.number from emitted_events e
        where e.workspace_id = of_workspace and e.id >= first and e.id < before and pg_visible_in_snapshot(e.transaction_id, until)
          and e.transaction_id >= pg_snapshot_xmax(last.snapshot) and e.transaction_id < pg_snapshot_xmax(until)
        union all
        select e.id, e.number from emitted_events e
        where e.workspace_id = of_workspace and e.id >= first and e.id < before and pg_visible_in_snapshot(e.transaction_id, until)
          and e.transaction_id = any(was_running)
      ) committed
      on conflict (workspace_id, id) do nothing -- published when the database came to this server
      returning published_events.position
    loop
      position := greatest(position, assigned);
    end loop;
  end if;

  more := complete is not null;
  -- What is left of a backlog can be as old as its beginning.
  if not more then
    last.published_at := now();
  end if;
  update event_publications set position = publish_events.position, snapshot = until, server = here, published_at = last.published_at
  where workspace_id = of_workspace;
end $$;
