-- How many tokens of the model a workspace may use a day, and how many it has used on the last day on which it used any.
alter table workspaces add column ai_tokens_per_day integer not null default 2000000 check (ai_tokens_per_day >= 0);
create table ai_usage (
  workspace_id text primary key references workspaces (id) on delete cascade,
  -- In the workspace's time zone.
  day date not null,
  tokens bigint not null
) with (fillfactor = 50);
call tenant_table('ai_usage');
