-- CRMs whose contacts become leads, and which are told what happens with them.
create table crm_connections (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  provider text not null,
  account_id text not null, -- the provider's
  token_sealed text not null,
  list_id object_id, -- where contacts become leads; null: Quick Sends
  campaign_id object_id, -- that new leads enter
  status text not null default 'active' check (status in ('active', 'broken')),
  error text, -- why it is broken, or cannot be reached now
  failing_since timestamptz,
  paused_until timestamptz, -- the provider wants to be left alone until then
  read_until timestamptz not null, -- by the provider's clock: earlier changes of contacts were read
  read_after text, -- the provider's position among those that changed at that time; null: at the first
  synced_at timestamptz,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create unique index crm_connections_provider on crm_connections (workspace_id, provider);
call tenant_table('crm_connections');

-- Which lead a contact is.
create table crm_links (
  workspace_id text not null,
  connection_id object_id not null,
  contact_id text not null, -- the provider's
  state text not null check (state in ('linked', 'refused', 'forgotten')), -- forgotten: erased, and not to come back
  lead_id object_id, -- may have been deleted
  seen jsonb not null default '{}', -- the fields as the CRM last had them
  modified_at timestamptz not null, -- by the provider's clock: the version that was last seen
  texts_opted_out boolean not null default false, -- in the CRM
  emails_opted_out boolean not null default false, -- in the CRM
  primary key (workspace_id, connection_id, contact_id),
  foreign key (workspace_id, connection_id) references crm_connections (workspace_id, id) on delete cascade
);
create index crm_links_lead on crm_links (workspace_id, lead_id) where lead_id is not null;
call tenant_table('crm_links');

-- The outbox: the events of which a CRM is to be told.
create table crm_outbox (
  workspace_id text not null references workspaces (id) on delete cascade,
  connection_id object_id not null, -- not a reference: what happens does not wait for the connection, or fail with it
  event_id object_id not null,
  primary key (workspace_id, connection_id, event_id)
);
call tenant_table('crm_outbox');

-- What was taken over, told, refused, or differs. It names contacts and leads by their ids.
create table crm_log (
  workspace_id text not null,
  connection_id object_id not null,
  id object_id not null,
  at timestamptz not null default now(),
  direction text not null check (direction in ('in', 'out')),
  subject text not null check (subject in ('contact', 'message', 'reply', 'call', 'opt_out', 'opt_in')),
  outcome text not null check (outcome in ('synced', 'refused', 'conflict')),
  reason text,
  contact_id text,
  lead_id object_id,
  message_id object_id,
  primary key (workspace_id, connection_id, id),
  foreign key (workspace_id, connection_id) references crm_connections (workspace_id, id) on delete cascade
);
create index crm_log_age on crm_log (at);
call tenant_table('crm_log');
