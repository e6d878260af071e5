-- Work that fails again and again: counted while its activity is retried, and set aside after too many failures, until an operator has
-- it tried again or drops it.
create table set_aside (
  workspace_id text not null references workspaces (id) on delete cascade,
  workflow_id text not null,
  activity text not null,
  id object_id not null unique,
  subject jsonb not null, -- the argument of the activity: ids only
  reason text not null,
  failures integer not null default 1,
  first_failed_at timestamptz not null default now(),
  last_failed_at timestamptz not null default now(),
  set_aside_at timestamptz,
  primary key (workspace_id, workflow_id, activity)
);
create index set_aside_at on set_aside (set_aside_at) where set_aside_at is not null;
call system_table('set_aside');
call own_workspace_statistics('set_aside', 'workspace_id');
