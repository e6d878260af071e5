-- What a change of many leads or conversations was made from, so that it can be undone for a minute. Housekeeping deletes it soon after.
create table bulk_changes (
  workspace_id text not null references workspaces (id) on delete cascade,
  bulk_id object_id not null,
  item text not null, -- the id of a lead or the address of a conversation
  actor text not null, -- who made the change, and may undo it
  before jsonb not null,
  after jsonb not null,
  undo_until timestamptz not null, -- by the clock of the workspace
  created_at timestamptz not null default now(),
  primary key (workspace_id, bulk_id, item)
);
call tenant_table('bulk_changes');
