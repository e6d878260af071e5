-- Views of the inbox that members named. They tell of no contact but what somebody searched for.
create table saved_filters (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  user_id text, -- whose it is; null: shared
  name text not null,
  view text not null,
  search text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('saved_filters');
