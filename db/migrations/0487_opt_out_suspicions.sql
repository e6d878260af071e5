-- Replies that ask to be left alone in other words than the keywords. A person decides: until then campaigns wait.
create table opt_out_suspicions (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  address text not null,
  reply_id object_id not null,
  status text not null default 'open' check (status in ('open', 'confirmed', 'dismissed')),
  decided_by text, -- the id of the user or key
  created_at timestamptz not null default now(),
  decided_at timestamptz,
  primary key (workspace_id, id)
);
create unique index opt_out_suspicions_open on opt_out_suspicions (workspace_id, address) where status = 'open';
create index opt_out_suspicions_address on opt_out_suspicions (workspace_id, address);
call tenant_table('opt_out_suspicions');
