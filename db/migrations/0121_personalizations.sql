-- Messages of campaigns that the language model is to write anew for their lead. A row comes when a step's turn has
-- come; until it is written, or given up, its message is held back from its line's queue.
create table personalizations (
  workspace_id text not null references workspaces (id) on delete cascade,
  message_id object_id not null,
  campaign_id object_id not null,
  status text not null default 'waiting' check (status in ('waiting', 'written', 'failed')),
  due_at timestamptz not null,
  model text,
  prompt_tokens integer,
  completion_tokens integer,
  error text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, message_id),
  foreign key (workspace_id, campaign_id) references campaigns (workspace_id, id) on delete cascade
) with (fillfactor = 80);
create index personalizations_due on personalizations (workspace_id, campaign_id, due_at) where status = 'waiting';
create index personalizations_campaign on personalizations (workspace_id, campaign_id, updated_at);
call tenant_table('personalizations');
