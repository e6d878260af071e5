create table campaigns (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  description text not null default '',
  status text not null default 'draft' check (status in ('draft', 'active', 'paused', 'completed', 'archived')),
  steps jsonb not null,
  list_id object_id,
  eligible_line_ids text[],
  stickiness_policy text not null default 'sticky' check (stickiness_policy in ('sticky', 'round_robin')),
  timezone text,
  window_start text,
  window_end text,
  window_days smallint[],
  stop_on_reply boolean not null default true,
  needs_ai_personalization boolean not null default false,
  -- How far its list has been entered: the last lead, and whether that was the last of the list.
  entered_to text collate "C" not null default '',
  entered_all boolean not null default true,
  created_by_user_id text,
  started_at timestamptz,
  completed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz, -- hidden, and deleted in chunks by a workflow
  pool_id object_id,
  quiet_hours jsonb, -- null: it has none
  require_consent boolean not null default false,
  primary key (workspace_id, id)
);
create index campaigns_list on campaigns (workspace_id, list_id) where list_id is not null;
create index campaigns_quiet_hours on campaigns (workspace_id) where quiet_hours is not null;
call tenant_table('campaigns');

-- The leads that have entered a campaign.
create table campaign_leads (
  workspace_id text not null,
  campaign_id object_id not null,
  lead_id object_id not null,
  state text not null default 'running' check (state in ('running', 'finished', 'stopped')),
  stop_reason text check (stop_reason in ('reply', 'opt_out', 'failed', 'no_address', 'no_consent', 'removed')),
  entered_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, campaign_id, lead_id),
  foreign key (workspace_id, campaign_id) references campaigns (workspace_id, id) on delete cascade
) with (fillfactor = 80);
create index campaign_leads_lead on campaign_leads (workspace_id, lead_id);
create index campaign_leads_running on campaign_leads (workspace_id, campaign_id) where state = 'running';
call tenant_table('campaign_leads');

-- Messages of campaigns that the language model rewrites for their lead. A row is added when a step's turn has
-- come; until the model has written the text, or failed, the message is held back from its line's queue.
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

-- The campaign steps to which replies and opt-outs are attributed: the last step sent before. Once per message, so that the
-- funnel counts leads.
create table campaign_responses (
  workspace_id text not null references workspaces (id) on delete cascade,
  campaign_id object_id not null,
  message_id object_id not null,
  kind text not null check (kind in ('reply', 'opt_out')),
  step_index integer not null,
  variant text check (variant in ('A', 'B', 'C', 'D')),
  responded_at timestamptz not null,
  primary key (workspace_id, campaign_id, message_id, kind) include (step_index, variant)
);
call tenant_table('campaign_responses');
