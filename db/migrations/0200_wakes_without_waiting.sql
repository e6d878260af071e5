-- Nobody holds a workflow's row while it works: see db/wakes.ts. `requested_by` is the last transaction that asked for a
-- look, `lowered_by` the last one that brought it forward; 0: none did. `sweep_at` is when the sweep signals the workflow.
alter table workflow_wakes
  add column requested_by xid8 not null default '0',
  add column lowered_by xid8 not null default '0',
  add column sweep_at timestamptz not null default '-infinity';
update workflow_wakes set sweep_at = wake_at + interval '30 seconds';
alter table workflow_wakes
  alter column requested_by drop default,
  alter column lowered_by drop default,
  alter column sweep_at drop default;

drop index workflow_wakes_due;
create index workflow_wakes_sweep on workflow_wakes (sweep_at) where sweep_at < 'infinity';
-- For the foreign key: deleting a workspace deletes its rows.
create index workflow_wakes_workspace on workflow_wakes (workspace_id);

-- A line that is being moved, deleted or connected sends nothing before this time, or before that has ended.
alter table lines add column held_until timestamptz;
