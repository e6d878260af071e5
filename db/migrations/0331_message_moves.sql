-- Which rule moved a message to which time, for its timeline.
create table message_moves (
  workspace_id text not null references workspaces (id) on delete cascade,
  message_id object_id not null,
  at timestamptz not null default clock_timestamp(),
  moved_from timestamptz not null,
  moved_to timestamptz not null,
  reason text not null,
  primary key (workspace_id, message_id, at)
);
create index message_moves_age on message_moves using brin (at);
call tenant_table('message_moves');
