-- Contacts ---------------------------------------------------------------------------------------

alter table lead_lists
  add column is_quick_sends boolean not null default false,
  add column lead_count integer not null default 0;
create unique index lead_lists_quick_sends on lead_lists (workspace_id) where is_quick_sends;

-- Which addresses are in which list, and whose they are: a list holds an address once, and a lead is in every list
-- that has an address of it. Written together with the lead, under the list's row lock.
create table list_addresses (
  workspace_id text not null references workspaces (id) on delete cascade,
  list_id object_id not null,
  address text not null,
  lead_id object_id not null,
  primary key (workspace_id, address, list_id)
);
create index list_addresses_members on list_addresses (workspace_id, list_id, lead_id);
call tenant_table('list_addresses');

-- Leads are found by address, and listed by list, through list_addresses.
drop index leads_list, leads_phones, leads_emails;

-- The people of the workspace that this transaction belongs to: users themselves are no tenant's.
create view workspace_users with (security_barrier) as
  select m.workspace_id, u.id, u.email, u.name, m.role, m.is_owner, m.joined_at
  from workspace_members m join users u on u.id = m.user_id
  where m.workspace_id = current_workspace();
grant select on workspace_users to linepace_tenant;

create table lead_imports (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  list_id object_id not null,
  status text not null default 'running' check (status in ('running', 'completed', 'failed')),
  file_key text not null,
  default_country_code text,
  columns text[] not null default '{}',
  processed integer not null default 0,
  saved integer not null default 0,
  duplicates integer not null default 0,
  rejected integer not null default 0,
  error text,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  foreign key (workspace_id, list_id) references lead_lists (workspace_id, id) on delete cascade
);
create index lead_imports_list on lead_imports (workspace_id, list_id);
call tenant_table('lead_imports');

create table rejected_rows (
  workspace_id text not null references workspaces (id) on delete cascade,
  import_id object_id not null,
  row_number integer not null,
  reason text not null,
  fields text[] not null,
  primary key (workspace_id, import_id, row_number),
  foreign key (workspace_id, import_id) references lead_imports (workspace_id, id) on delete cascade
);
call tenant_table('rejected_rows');

-- Campaigns --------------------------------------------------------------------------------------

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
  -- How far its list has been entered: the last lead, and whether that was all.
  entered_to text collate "C" not null default '',
  entered_all boolean not null default true,
  created_by_user_id text,
  started_at timestamptz,
  completed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create index campaigns_list on campaigns (workspace_id, list_id) where list_id is not null;
call tenant_table('campaigns');

create table campaign_leads (
  workspace_id text not null references workspaces (id) on delete cascade,
  campaign_id object_id not null,
  lead_id object_id not null,
  state text not null default 'running' check (state in ('running', 'finished', 'stopped')),
  stop_reason text check (stop_reason in ('reply', 'opt_out', 'failed', 'no_address', 'removed')),
  entered_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, campaign_id, lead_id),
  foreign key (workspace_id, campaign_id) references campaigns (workspace_id, id) on delete cascade
) with (fillfactor = 80);
create index campaign_leads_lead on campaign_leads (workspace_id, lead_id);
create index campaign_leads_running on campaign_leads (workspace_id, campaign_id) where state = 'running';
call tenant_table('campaign_leads');

-- A held message is not in its line's queue yet: the step before it has not left.
alter table messages add column held boolean not null default false;
drop index messages_queue;
create index messages_queue on messages (workspace_id, line_id, scheduled_at, arrival)
  where status in ('pending', 'scheduled') and not held;
create index messages_steps on messages (workspace_id, campaign_id, lead_id, step_index)
  where campaign_id is not null and status in ('pending', 'scheduled');
