-- When somebody, the copilot or an opt-in link added tags to a contact: what dry runs of rules about it look at. Kept for 30 days.
create table added_tags (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  address text not null, -- of the conversation
  tags text[] not null, -- in lower case
  added_at timestamptz not null,
  primary key (workspace_id, id)
);
call tenant_table('added_tags');
create index added_tags_contact on added_tags (workspace_id, address);
create index added_tags_age on added_tags (added_at);
