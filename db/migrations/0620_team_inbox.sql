-- What a team does with a conversation. A snooze ends when its time has passed, without a write: whoever reads compares it.
alter table conversations
  add column status text not null default 'open', -- open, snoozed or closed
  add column snoozed_until timestamptz,
  add column assignee_id text;

-- Until when a user has read the conversation with an address.
create table conversation_reads (
  workspace_id text not null references workspaces (id) on delete cascade,
  address text not null,
  user_id text not null,
  read_at timestamptz not null,
  primary key (workspace_id, address, user_id)
);
call tenant_table('conversation_reads');

-- What arrived before a member joined, or before this table existed, is not unread.
alter table workspace_members add column inbox_since timestamptz not null default now();

-- What members write to each other about a contact. It is never sent.
create table conversation_notes (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  address text not null,
  author_type text not null,
  author_id text,
  author_name text,
  text text not null,
  mentions text[] not null default '{}', -- ids of users
  created_at timestamptz not null,
  primary key (workspace_id, id)
);
create index conversation_notes_address on conversation_notes (workspace_id, address, id);
call tenant_table('conversation_notes');

-- The members who answer: those of the workspace, and in test mode those of the workspace whose twin it is.
create function inbox_members() returns table (user_id text, email text, name text, inbox_since timestamptz)
  language sql stable security definer set search_path = public, pg_temp
  begin atomic
  select m.user_id, u.email, u.name, m.inbox_since
  from workspaces w
  join workspace_members m on m.workspace_id = coalesce(w.live_workspace_id, w.id)
  join users u on u.id = m.user_id
  where w.id = current_workspace();
end;
grant linepace_definer to current_user; -- until the end of this file
grant create on schema public to linepace_definer;
alter function inbox_members owner to linepace_definer;
-- old processes: have another login than the definer
revoke create on schema public from linepace_definer;
-- old processes: do not know this function
revoke execute on function inbox_members from public;
grant execute on function inbox_members to linepace_tenant;
-- old processes: have another login than the owner
revoke linepace_definer from current_user;
