-- When each long-lived workflow will next look at its tables. A transaction that adds work that is due earlier lowers `wake_at` in the same
-- commit, and signals the workflow afterwards. Nobody locks a row while its workflow works (db/wakes.ts).
create table workflow_wakes (
  workspace_id text not null references workspaces (id) on delete cascade,
  workflow_id text not null,
  wake_at timestamptz not null,
  requested_by xid8 not null, -- the last transaction that requested a look
  lowered_by xid8 not null, -- the last one that brought it forward; 0: none did
  sweep_at timestamptz not null, -- when the sweep signals the workflow
  signal text, -- the name of the last signal for the workflow (workflows/messages/signals.ts); null: it looks by itself
  -- Until when the messages of a line are held, according to its pacer's last decision: all of them, and those to contacts to whom the line
  -- has never written. A message that is due earlier brings the pacer's next look forward only to that time. The hold applies
  -- while `held_for` is the last request: any other request for a look ends it.
  held_until timestamptz,
  held_new_until timestamptz,
  held_for xid8 not null default '0',
  primary key (workspace_id, workflow_id)
) with (fillfactor = 50);
create index workflow_wakes_sweep on workflow_wakes (sweep_at) where sweep_at < 'infinity';
call tenant_table('workflow_wakes');

-- When the sweep considers a workflow lost that should have looked at a time (`GRACE` in db/transaction-wakes.ts). Immutable, because seconds
-- depend on no time zone: nothing else may change a row of a distributed table.
create function after_grace(at timestamptz) returns timestamptz language sql immutable parallel safe
  return at + interval '30 seconds';

-- Claims overdue workflows for the sweep (db/wakes.ts), those whose sweep was due first. Each moves to the end of the
-- queue. Locked rows are skipped, which takes one statement per workspace where workspaces are distributed. A cluster
-- defines it differently, so that it works while a node is down (db/distribute.ts).
--   age_factor: the age of an overdue workflow, times this, is the pause before its next signal.
create function claim_overdue(most int, age_factor int, longest interval)
  returns table (workspace_id text, workflow_id text, signal text) language plpgsql as $$
#variable_conflict use_column
declare
  due record;
begin
  for due in
    select workspace_id, array_agg(workflow_id) workflow_ids
    from (
      select workspace_id, workflow_id from workflow_wakes where sweep_at < now() and sweep_at < 'infinity'
      order by sweep_at limit most
    ) overdue
    group by workspace_id
  loop
    return query
    with free as materialized (
      select workflow_id,
        now() + case when wake_at < now() then least((now() - wake_at) * age_factor, longest) else longest end next_sweep
      from workflow_wakes
      where workspace_id = due.workspace_id and workflow_id = any(due.workflow_ids) and sweep_at < now()
      for update skip locked
    )
    update workflow_wakes w set sweep_at = free.next_sweep
    from free where w.workspace_id = due.workspace_id and w.workflow_id = free.workflow_id
    returning w.workspace_id, w.workflow_id, w.signal;
  end loop;
end $$;

-- When and why a line could not send, for the timelines of the messages that waited for it. Its pacer adds a hold when it
-- finds one and ends it when it is over; an operator who pauses the line adds it with the pause.
create table line_holds (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  began_at timestamptz not null,
  ended_at timestamptz,
  reason text not null,
  by_name text, -- the operator
  note text, -- the operator's reason
  attempt_id object_id, -- the attempt that the carrier did not accept
  primary key (workspace_id, line_id, began_at)
);
create index line_holds_age on line_holds (ended_at);
call tenant_table('line_holds');

-- The workspace-wide round-robin over lines, shared by every intake.
create table line_rotation (
  workspace_id text primary key references workspaces (id) on delete cascade,
  position bigint not null default 0
) with (fillfactor = 50);
call tenant_table('line_rotation');

-- Lines that share the messages of campaigns and requests that name the pool.
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

-- A line that leaves its workspace leaves its pools (`leavePools`); a row of a removed line has no meaning.
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

-- The position of a pool's round-robin over each set of its lines that were available together, so that a line that is down for a
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
