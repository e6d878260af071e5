-- A person of an agency that has no client yet is signed in to no workspace.
-- old processes: name the table by its columns; the index of the new key serves them as well as the one before.
alter table user_sessions drop constraint user_sessions_pkey;
-- old processes: ids are unique already.
alter table user_sessions add primary key (id);
alter table user_sessions alter column workspace_id drop not null;
-- What the tokens are sealed for.
alter table user_sessions add column place text not null generated always as (coalesce(workspace_id, user_id)) stored;
create index user_sessions_workspace on user_sessions (workspace_id);
