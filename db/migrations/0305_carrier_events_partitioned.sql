lock table workspaces in share row exclusive mode;
alter table carrier_events rename to carrier_events_before;
alter index carrier_events_waiting rename to carrier_events_before_waiting;
drop index carrier_events_age;
alter table carrier_events_before drop constraint carrier_events_pkey;
alter table carrier_events_before add constraint carrier_events_before_pkey primary key using index carrier_events_daily;

create table carrier_events (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  event_id text not null,
  carrier_message_id text,
  waiting jsonb,
  received_at timestamptz not null default now(),
  received_on date not null default (now() at time zone 'UTC')::date,
  primary key (workspace_id, line_id, event_id, received_on)
) partition by range (received_on);
create index carrier_events_waiting on carrier_events (workspace_id, line_id, carrier_message_id) where waiting is not null;
call tenant_table('carrier_events');

revoke all on carrier_events_before from linepace_tenant, linepace_system;
do $$
begin
  execute format('alter table carrier_events attach partition carrier_events_before for values from (minvalue) to (%L)',
    (select substring(pg_get_constraintdef(oid) from '\d{4}-\d\d-\d\d') from pg_constraint where conname = 'carrier_events_bounded'));
end $$;
alter table carrier_events_before drop constraint carrier_events_bounded;
create table carrier_events_rest partition of carrier_events default;

-- An event is stored once, whatever its day: a unique index ends at its partition. Of two that come at once, the second
-- waits for the first and then finds it. What a line brings from another workspace came before, and nobody repeats it
-- while it moves: its rows take no locks, which may be thousands.
create function carrier_event_once() returns trigger language plpgsql
  set plan_cache_mode = 'force_generic_plan' as $$ -- planning for all partitions takes longer than looking into them
begin
  if new.received_at = now() then
    perform pg_advisory_xact_lock(hashtextextended(new.line_id || ' ' || new.event_id, 1));
  end if;
  if exists (select from carrier_events where workspace_id = new.workspace_id and line_id = new.line_id and event_id = new.event_id) then
    return null;
  end if;
  return new;
end $$;
create trigger carrier_event_once before insert on carrier_events for each row execute function carrier_event_once();
