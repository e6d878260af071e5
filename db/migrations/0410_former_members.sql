-- Who was removed from a workspace. The identity provider may still name them an admin of its organization, but they do
-- not become members again by signing in.
create table former_members (
  workspace_id text not null references workspaces (id) on delete cascade,
  user_id text not null,
  removed_at timestamptz not null default now(),
  primary key (workspace_id, user_id)
);
call tenant_table('former_members');

-- Ends the open event streams of those who were removed, or whose role was lowered.
-- old processes: hear of it, and look credentials up again
create trigger credentials_changed
  after delete or update of role on workspace_members
  for each statement execute function notify_credentials();
-- old processes: hear of it, and look credentials up again
create trigger credentials_changed
  after delete on agency_members
  for each statement execute function notify_credentials();
