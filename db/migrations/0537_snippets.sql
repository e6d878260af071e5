-- Texts that a team writes often, as templates. They tell of no contact.
create table snippets (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  text text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('snippets');
