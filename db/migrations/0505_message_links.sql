-- Links of the messages of campaigns that ask whether they are opened. A message has a token of ours in place of each.
create table message_links (
  workspace_id text not null references workspaces (id) on delete cascade,
  token text not null, -- in the message; it begins with the workspace
  message_id object_id not null,
  url text not null, -- where it leads
  clicked_at timestamptz, -- for the first time
  clicks integer not null default 0,
  created_at timestamptz not null default now(),
  primary key (workspace_id, token)
);
-- A message that is rendered again keeps its tokens.
create unique index message_links_message on message_links (workspace_id, message_id, url);
call tenant_table('message_links');
