-- Lines that share the messages of a campaign, or of whoever names the pool.
create table pools (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  strategy text not null default 'round_robin' check (strategy in ('round_robin', 'least_used', 'local')),
  sticky boolean not null default true,
  failover text not null default 'new_conversations' check (failover in ('never', 'new_conversations', 'always')),
  failover_after_minutes integer not null default 15 check (failover_after_minutes between 0 and 10080),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('pools');

-- A line leaves its pools with its workspace (`leavePools`); a row of a line that is gone means nothing.
create table pool_lines (
  workspace_id text not null,
  pool_id object_id not null,
  line_id object_id not null,
  weight smallint not null check (weight between 1 and 100),
  place smallint not null, -- in the order of the request
  primary key (workspace_id, pool_id, line_id),
  foreign key (workspace_id, pool_id) references pools (workspace_id, id) on delete cascade
);
create index pool_lines_line on pool_lines (workspace_id, line_id);
call tenant_table('pool_lines');

-- The position of a pool's round-robin over each set of its lines that were up together, so that a line that is down for a
-- while is neither skipped nor caught up with.
create table pool_rotations (
  workspace_id text not null,
  pool_id object_id not null,
  lines uuid not null, -- a hash of their ids and weights
  position bigint not null default 0,
  primary key (workspace_id, pool_id, lines),
  foreign key (workspace_id, pool_id) references pools (workspace_id, id) on delete cascade
) with (fillfactor = 50);
call tenant_table('pool_rotations');

alter table campaigns add column pool_id object_id;
alter table messages add column pool_id object_id;
-- Which line a message left, and for which; null: only its time moved.
alter table message_moves
  add column from_line_id object_id,
  add column to_line_id object_id,
  add column rule text; -- of the pool, for example failover:always

-- Since when a line sends nothing, or starts no conversations, and why: the time after which its pools give its messages to
-- other lines counts from there. domain/line-stop.ts lists the reasons.
alter table lines
  add column stopped_at timestamptz,
  add column stop_reason text;

create function line_stop(l lines) returns text language sql immutable as $$
  select case
    when not l.is_active or l.provisioning_status <> 'active' then 'line_inactive'
    when l.paused_at is not null then 'line_paused'
    when l.health_status = 'down' then 'line_down'
  end
$$;

create function note_line_stop() returns trigger language plpgsql as $$
begin
  new.stop_reason := public.line_stop(new);
  new.stopped_at := case when new.stop_reason is not null then coalesce(new.stopped_at, now()) end;
  return new;
end $$;
-- old processes: they neither read nor write the two columns that it sets.
create trigger line_stops before insert or update of is_active, provisioning_status, paused_at, health_status on lines
  for each row execute function note_line_stop();

update lines l set is_active = is_active where public.line_stop(l) is not null;
