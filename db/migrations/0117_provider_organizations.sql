-- The workspaces of the identity provider's organizations, by the id or the name that its tokens have. A workspace whose id is
-- the organization's needs no row.
create table provider_organizations (
  name text primary key,
  workspace_id text not null references workspaces (id) on delete cascade,
  created_at timestamptz not null default now()
);
create index provider_organizations_workspace on provider_organizations (workspace_id);
call system_table('provider_organizations');
call own_workspace_statistics('provider_organizations', 'workspace_id');
