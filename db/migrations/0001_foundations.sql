-- Two roles besides the owner: `linepace_tenant` sees one workspace at a time (row-level security),
-- `linepace_system` serves jobs that cross workspaces. Neither owns a table.
do $$
declare
  wanted text;
begin
  foreach wanted in array array['linepace_tenant', 'linepace_system'] loop
    if not exists (select from pg_roles where rolname = wanted) then
      begin
        execute format('create role %I nologin', wanted);
      exception when duplicate_object or unique_violation then null; -- another database of this cluster was faster
      end;
    end if;
    execute format('grant %I to current_user', wanted);
    execute format('grant usage on schema public to %I', wanted);
  end loop;
end $$;

create domain object_id as text collate "C" check (value ~ '^[0-9a-f]{24}$');

-- The workspace of this transaction. A setting that was made with set_config(…, true) reads '' afterwards, hence nullif.
create function current_workspace() returns text language sql stable parallel safe
  return nullif(current_setting('app.workspace_id', true), '');

-- Called for every table of a tenant: its row-level security and its grants, said once.
create procedure tenant_table(table_name text, workspace_column text default 'workspace_id') language plpgsql as $$
begin
  execute format('alter table %I enable row level security', table_name);
  execute format('create policy tenant on %I to linepace_tenant using (%I = current_workspace()) with check (%I = current_workspace())',
    table_name, workspace_column, workspace_column);
  execute format('create policy system on %I to linepace_system using (true) with check (true)', table_name);
  execute format('grant select, insert, update, delete on %I to linepace_tenant, linepace_system', table_name);
end $$;

create procedure system_table(table_name text) language plpgsql as $$
begin
  execute format('grant select, insert, update, delete on %I to linepace_system', table_name);
end $$;

-- Accounts ---------------------------------------------------------------------------------------

create table users (
  id text primary key,
  email text not null,
  name text not null default '',
  created_at timestamptz not null default now()
);
create unique index users_email on users (lower(email));
call system_table('users');

create table agencies (
  id text primary key,
  name text not null,
  billing_mode text not null default 'card' check (billing_mode in ('card', 'invoice')),
  is_active boolean not null default true,
  created_at timestamptz not null default now()
);
call system_table('agencies');

create table agency_members (
  agency_id text not null references agencies (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'co_admin')),
  primary key (agency_id, user_id)
);
create unique index agency_members_owner on agency_members (agency_id) where role = 'owner';
call system_table('agency_members');

create table workspaces (
  id text primary key,
  agency_id text references agencies (id),
  name text not null,
  legal_name text not null default '',
  timezone text not null default 'UTC',
  country text not null default 'US',
  plan text check (plan in ('mini', 'starter', 'growth')),
  subscription_status text not null default 'none' check (subscription_status in ('none', 'active', 'past_due', 'canceled')),
  created_by_user_id text references users (id),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index workspaces_agency on workspaces (agency_id);
call tenant_table('workspaces', 'id');

create table workspace_members (
  workspace_id text not null references workspaces (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('org:admin', 'org:member')),
  is_owner boolean not null default false,
  joined_at timestamptz not null default now(),
  primary key (workspace_id, user_id)
);
create index workspace_members_user on workspace_members (user_id);
call tenant_table('workspace_members');

-- Keys are stored as hashes. They are looked up before a tenant is known, by the system role.
create table workspace_keys (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  hash text not null unique,
  prefix text not null,
  last4 text not null,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (workspace_id, id)
);
call tenant_table('workspace_keys');

create table agency_keys (
  agency_id text not null references agencies (id) on delete cascade,
  id object_id not null,
  name text not null,
  hash text not null unique,
  prefix text not null,
  last4 text not null,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (agency_id, id)
);
call system_table('agency_keys');

-- The store of rate-limiter-flexible: one row per limit and caller, shared by all API processes.
create table rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
call system_table('rate_limits');

create table idempotency_keys (
  workspace_id text not null references workspaces (id) on delete cascade,
  route text not null,
  key text not null,
  request_hash text not null,
  status integer,
  response jsonb,
  created_at timestamptz not null default now(),
  primary key (workspace_id, route, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
call tenant_table('idempotency_keys');

-- When each long-lived workflow will next look at its tables. Whoever adds work that is due earlier lowers
-- `wake_at` in the same transaction and signals the workflow after the commit; the row is also the lock
-- under which a line's sends are decided.
create table workflow_wakes (
  workspace_id text not null references workspaces (id) on delete cascade,
  workflow_id text primary key,
  wake_at timestamptz not null
) with (fillfactor = 50);
create index workflow_wakes_due on workflow_wakes (wake_at) where wake_at < 'infinity';
call tenant_table('workflow_wakes');

-- Lines ------------------------------------------------------------------------------------------

create table lines (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  channel text not null check (channel in ('imessage', 'sms', 'email')),
  line_type text not null default 'purchased' check (line_type in ('purchased', 'byo')),
  first_name text not null default '',
  last_name text not null default '',
  phone text,
  email text,
  is_active boolean not null default true,
  provisioning_status text not null default 'provisioning'
    check (provisioning_status in ('awaiting_payment', 'provisioning', 'active', 'failed', 'canceled')),
  payment_status text not null default 'not_required'
    check (payment_status in ('not_required', 'pending', 'paid', 'failed', 'canceled', 'invoiced')),
  request_source text not null default 'api' check (request_source in ('api', 'dashboard', 'agency')),
  payment_link_url text,
  payment_provider_invoice_id text,
  carrier text not null,
  carrier_config jsonb not null default '{}',
  daily_total_limit integer not null check (daily_total_limit between 0 and 10000),
  daily_new_limit integer not null check (daily_new_limit between 0 and 10000),
  hourly_new_limit integer check (hourly_new_limit between 0 and 10000),
  min_gap_seconds integer not null check (min_gap_seconds between 0 and 10000),
  contact_gap_seconds integer not null check (contact_gap_seconds between 0 and 10000),
  warmup_started_at timestamptz,
  line_down_notifications boolean not null default true,
  health_status text not null default 'unknown' check (health_status in ('healthy', 'degraded', 'down', 'unknown')),
  health_checked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create unique index lines_id on lines (id);
call tenant_table('lines');

-- The workspace-wide round-robin over lines, shared by every intake.
create table line_rotation (
  workspace_id text primary key references workspaces (id) on delete cascade,
  position bigint not null default 0
) with (fillfactor = 50);
call tenant_table('line_rotation');

-- Contacts ---------------------------------------------------------------------------------------

create table lead_lists (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  description text not null default '',
  created_by_user_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('lead_lists');

create table leads (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  list_id object_id not null,
  first_name text not null default '',
  last_name text not null default '',
  emails text[] not null default '{}',
  phones text[] not null default '{}',
  company_name text not null default '',
  job_title text not null default '',
  notes text not null default '',
  contact_owner_email text,
  custom_fields jsonb not null default '{}',
  status text check (status in ('available', 'unavailable', 'error')),
  source text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  foreign key (workspace_id, list_id) references lead_lists (workspace_id, id)
);
create index leads_list on leads (workspace_id, list_id, id);
create index leads_phones on leads using gin (phones);
create index leads_emails on leads using gin (emails);
call tenant_table('leads');

create table opt_outs (
  workspace_id text not null references workspaces (id) on delete cascade,
  address text not null,
  source text not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, address)
);
call tenant_table('opt_outs');

-- What a workspace and one address have exchanged, and the line the contact stays with.
create table conversations (
  workspace_id text not null references workspaces (id) on delete cascade,
  address text not null,
  line_id object_id,
  last_outbound_at timestamptz,
  last_inbound_at timestamptz,
  primary key (workspace_id, address)
) with (fillfactor = 70);
call tenant_table('conversations');

-- The addresses a line has exchanged a message with: to all others a message opens a new conversation.
create table line_contacts (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  address text not null,
  since timestamptz not null,
  primary key (workspace_id, line_id, address)
);
call tenant_table('line_contacts');

-- Messages ---------------------------------------------------------------------------------------

-- Bulk intake: accepted, committed, and not yet a message. The id is the later message's.
create table drip_buffer (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  arrival bigint generated always as identity,
  draft jsonb not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create index drip_buffer_order on drip_buffer (workspace_id, arrival);
call tenant_table('drip_buffer');

-- One message per (workspace, recipient, body) within 60 minutes (specification §4.4 rule 4).
create table drip_fingerprints (
  workspace_id text not null references workspaces (id) on delete cascade,
  fingerprint text not null,
  acknowledgement jsonb not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, fingerprint)
);
create index drip_fingerprints_age on drip_fingerprints (created_at);
call tenant_table('drip_fingerprints');

create table messages (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  arrival bigint generated always as identity,
  channel text not null check (channel in ('imessage', 'sms', 'email')),
  status text not null,
  hold_reason text,
  line_id object_id, -- null while no line of the workspace can carry it
  line_pinned boolean not null default false,
  eligible_line_ids text[],
  stickiness_policy text not null default 'sticky' check (stickiness_policy in ('sticky', 'round_robin')),
  address text not null,
  recipient_phone text,
  recipient_email text,
  recipient_name text,
  lead_id object_id,
  body text not null default '',
  subject text,
  attachment_urls text[] not null default '{}',
  attachment_names text[] not null default '{}',
  voice_note boolean not null default false,
  scheduled_at timestamptz not null,
  window_timezone text,
  window_start text,
  window_end text,
  window_days smallint[],
  answers_until timestamptz,
  send_fallback_sms_on_failed boolean not null default false,
  sms_fallback_enabled boolean not null default false,
  sms_fallback_message text,
  force_fallback boolean not null default false,
  fallback_sms text check (fallback_sms in ('due', 'dispatched', 'failed')),
  source text not null,
  correlation_id text,
  trace_id text,
  batch_id text,
  step_index integer,
  campaign_id object_id,
  crm jsonb not null default '{}',
  transient_failures smallint not null default 0,
  carrier_message_id text,
  sent_at timestamptz,
  delivered_at timestamptz,
  read_at timestamptz,
  error_message text,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
) with (fillfactor = 80);
create index messages_queue on messages (workspace_id, line_id, scheduled_at, arrival) where status in ('pending', 'scheduled');
create index messages_answers on messages (workspace_id, line_id, answers_until) where status in ('pending', 'scheduled') and answers_until is not null;
create index messages_address on messages (workspace_id, address, id);
create index messages_lead on messages (workspace_id, lead_id, id) where lead_id is not null;
create index messages_line on messages (workspace_id, line_id, id);
create index messages_campaign on messages (workspace_id, campaign_id, id) where campaign_id is not null;
create index messages_status on messages (workspace_id, status, id);
create index messages_correlation on messages (workspace_id, correlation_id, id) where correlation_id is not null;
create index messages_fallback_due on messages (workspace_id, line_id) where fallback_sms = 'due';
call tenant_table('messages');

-- The state machine of a message (domain/message-status.ts draws it): forward only, whoever writes.
create function message_status_moves_forward() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and not (old.status, new.status) in (
    ('pending', 'scheduled'),
    ('pending', 'sending'), ('scheduled', 'sending'), ('sending', 'scheduled'),
    ('pending', 'canceled'), ('scheduled', 'canceled'),
    ('pending', 'failed'), ('scheduled', 'failed'), ('sending', 'failed'),
    ('sending', 'sent'), ('sending', 'fallback'), ('pending', 'fallback'), ('scheduled', 'fallback'),
    ('sent', 'delivered'), ('sent', 'failed'), ('sent', 'fallback')
  ) then
    raise exception 'a message cannot go from % to %', old.status, new.status using errcode = 'check_violation', constraint = 'message_status_moves_forward';
  end if;
  return new;
end $$;
create trigger message_status_moves_forward before update of status on messages
  for each row execute function message_status_moves_forward();
alter table messages add constraint messages_status_known check
  (status in ('pending', 'scheduled', 'sending', 'sent', 'delivered', 'fallback', 'failed', 'canceled'));

-- One row before each call to a carrier. A line's usage is counted from these rows, so it is right
-- after a crash, in any zone and after the zone changes.
create table attempts (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  message_id object_id not null,
  line_id object_id not null,
  kind text not null check (kind in ('primary', 'fallback')),
  channel text not null,
  carrier text not null,
  address text not null,
  is_new boolean not null,
  contact_last_sent_at timestamptz, -- before this attempt: restored when it did not leave
  started_at timestamptz not null,
  answer_by timestamptz not null,
  outcome text check (outcome in ('accepted', 'unavailable', 'refused', 'transient', 'unknown', 'not_sent')),
  reason text,
  carrier_message_id text,
  finished_at timestamptz,
  primary key (workspace_id, id)
) with (fillfactor = 80);
create index attempts_usage on attempts (workspace_id, line_id, started_at) include (is_new)
  where kind = 'primary' and (outcome is null or outcome in ('accepted', 'unknown'));
create index attempts_open on attempts (workspace_id, line_id) where outcome is null;
create index attempts_message on attempts (workspace_id, message_id);
create index attempts_carrier_message on attempts (workspace_id, line_id, carrier_message_id) where carrier_message_id is not null;
call tenant_table('attempts');

-- Carriers repeat their callbacks: an event seen before changes nothing. One that came before the answer to the
-- send it is about is kept in `waiting` until that send is settled.
create table carrier_events (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  event_id text not null,
  carrier_message_id text,
  waiting jsonb,
  received_at timestamptz not null default now(),
  primary key (workspace_id, line_id, event_id)
);
create index carrier_events_waiting on carrier_events (workspace_id, line_id, carrier_message_id) where waiting is not null;
create index carrier_events_age on carrier_events (received_at);
call tenant_table('carrier_events');

create table fallback_configs (
  workspace_id text primary key references workspaces (id) on delete cascade,
  enabled boolean not null,
  provider text not null check (provider in ('twilio', 'simulated')),
  account_sid text,
  auth_token_sealed text,
  from_number text,
  messaging_service_sid text,
  default_message text,
  updated_at timestamptz not null default now()
);
call tenant_table('fallback_configs');

-- Events -----------------------------------------------------------------------------------------

create table webhooks (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  url text not null,
  events text[] not null,
  is_active boolean not null default true,
  secret_sealed text not null,
  previous_secret_sealed text,
  previous_secret_until timestamptz,
  failure_count integer not null default 0,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('webhooks');

-- The outbox: written in the transaction that changed the status. `body` is the exact text that is signed and sent.
create table events (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  event text not null,
  message_id object_id,
  body text not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create index events_age on events (created_at);
call tenant_table('events');

create table webhook_deliveries (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  webhook_id object_id not null,
  event_id object_id not null,
  event text not null,
  status text not null default 'pending' check (status in ('pending', 'sending', 'done')),
  is_replay_of object_id,
  success boolean,
  response_status integer,
  error text,
  latency_ms integer,
  attempt_count smallint not null default 0,
  claimed_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id),
  foreign key (workspace_id, webhook_id) references webhooks (workspace_id, id) on delete cascade
) with (fillfactor = 80);
create index webhook_deliveries_open on webhook_deliveries (workspace_id, webhook_id, id) where status <> 'done';
create index webhook_deliveries_log on webhook_deliveries (workspace_id, webhook_id, id desc);
create index webhook_deliveries_age on webhook_deliveries (created_at);
call tenant_table('webhook_deliveries');
