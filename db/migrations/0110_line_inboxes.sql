-- How far the mailbox of an email line has been read, in the carrier's own words.
create table line_inboxes (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  position text not null,
  primary key (workspace_id, line_id)
);
call tenant_table('line_inboxes');
