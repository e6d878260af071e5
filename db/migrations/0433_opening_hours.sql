-- When somebody of the workspace is there: {hours: [{days, start, end}], closedOn}. null: nobody has said.
alter table workspaces add column opening_hours jsonb;
-- old processes: they neither read nor write it.

-- The members who are away, and get no conversations by turn. Without a reference to the members, because those of a twin are of
-- its live workspace.
create table absences (
  workspace_id text not null references workspaces (id) on delete cascade,
  user_id text not null,
  until timestamptz, -- null: until they say that they are back
  primary key (workspace_id, user_id)
);
call tenant_table('absences');
