-- Numbers, accounts and mailboxes from which messages are sent. A line begins as a request (0015_billing.sql). Its row is
-- written by every plan, so it has room for updates on its page, and few indexes.
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
  request_round integer not null default 1,
  requested_email text,
  requested_area_code text,
  requested_country text,
  failure_reason text,
  failed_probes integer not null default 0,
  -- A line that is being moved, deleted or connected sends nothing before this time, or before the operation has ended.
  held_until timestamptz,
  -- Between these times the line sent messages that have no record, because the database was restored.
  lost_from timestamptz,
  lost_until timestamptz,
  -- The ends of the last local hour and days in which a cap was used up; null: not since the caps were changed. What was due
  -- before waits for the next hour or morning: reaching a cap writes this row and no message.
  hourly_new_used_up timestamptz,
  daily_new_used_up timestamptz,
  daily_total_used_up timestamptz,
  -- The orders of operators (workflows/messages/updates.ts): the line sends nothing from `paused_at` on, and sends these
  -- messages before all others, whatever its gaps.
  paused_at timestamptz,
  send_now text[] not null default '{}',
  -- The reason of the current hold, so that a pacer that finds the same reason reads and writes no holds.
  recorded_hold text,
  -- The current reputation, and the owner's override. Without a time of a check, it was not scored yet.
  reputation_state text not null default 'new',
  reputation_score smallint not null default 100,
  reputation_since timestamptz,
  reputation_checked_at timestamptz,
  reputation_rests_until timestamptz, -- set while critical
  reputation_policy text, -- null: the workspace's
  reputation_override_until timestamptz,
  reputation_override_reason text,
  -- Since when a line sends nothing, or starts no conversations, and why. The delay after which its pools move its messages to
  -- other lines starts there. domain/line-stop.ts lists the reasons.
  stopped_at timestamptz,
  stop_reason text,
  primary key (workspace_id, id)
) with (fillfactor = 80);
-- Only a request that awaits payment blocks the next one (specification §3.1): one at a time.
create unique index lines_awaiting_payment on lines (workspace_id) where provisioning_status = 'awaiting_payment';
call tenant_table('lines');

-- Why a line sends nothing, or, while it rests, starts no conversations: after a while its pools move those messages to other
-- lines. Evaluated again when its reputation, its policy or its override changes; a changed policy of the workspace applies when the
-- line is next scored.
create function note_line_stop() returns trigger language plpgsql as $$
begin
  new.stop_reason := case
    when not new.is_active or new.provisioning_status <> 'active' then 'line_inactive'
    when new.paused_at is not null then 'line_paused'
    when new.health_status = 'down' then 'line_down'
    when new.reputation_rests_until > now()
      and coalesce(new.reputation_override_until, '-infinity') <= now()
      and coalesce(new.reputation_policy, (select w.reputation_policy from workspaces w where w.id = new.workspace_id)) = 'protect'
      then 'line_resting'
  end;
  new.stopped_at := case when new.stop_reason is not null then coalesce(new.stopped_at, now()) end;
  return new;
end $$;
create trigger line_stops
  before insert or update of is_active, provisioning_status, paused_at, health_status,
    reputation_rests_until, reputation_policy, reputation_override_until
  on lines for each row execute function note_line_stop();

-- Lines of a twin never have a real carrier, and other lines never have the test carrier.
create function check_line_mode() returns trigger language plpgsql as $$
begin
  if new.carrier <> 'none' and (new.carrier = 'test')
    <> exists (select from workspaces w where w.id = new.workspace_id and w.live_workspace_id is not null) then
    raise exception 'the carrier % is not for this workspace', new.carrier using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger line_mode before insert or update of carrier, workspace_id on lines
  for each row execute function check_line_mode();

-- The API processes cache the lines of a caller together with the caller.
create trigger credentials_changed
  after insert or delete or update of workspace_id, channel, is_active, provisioning_status on lines
  for each statement execute function notify_credentials();

-- The current workspace of a line, and its carrier. Two statements, each of which one node of a cluster can answer; on one server,
-- both see the same.
create function line_home(of_line text) returns table (workspace_id text, carrier text) language plpgsql stable as $$
#variable_conflict use_column
declare
  home text := (select workspace_id from lookups where kind = 'line' and key = of_line);
begin
  return query select workspace_id, carrier from lines where workspace_id = home and id = of_line;
end $$;

-- Records that lines are healthy (`recordHealthy` in db/queries/line-probes.ts), and returns the ids of those recorded. On a cluster
-- the definition differs, with a statement for each workspace (db/distribute.ts).
create function record_healthy(of_workspaces text[], of_lines text[], at timestamptz[]) returns setof text language plpgsql as $$
begin
  return query
    with known as materialized (
      select l.workspace_id, l.id, k.checked_at from unnest(of_workspaces, of_lines, at) k (workspace_id, id, checked_at)
      join lines l on l.workspace_id = k.workspace_id and l.id = k.id
      where l.health_status <> 'down'
      for no key update of l skip locked
    )
    update lines l set health_status = 'healthy', failed_probes = 0, health_checked_at = known.checked_at
    from known where l.workspace_id = known.workspace_id and l.id = known.id
    returning l.id::text;
end $$;

-- The former workspaces of a line: a carrier's report about a message that was sent before a move belongs to the workspace
-- that sent it.
create table line_moves (
  line_id object_id not null,
  id object_id not null,
  from_workspace_id text not null references workspaces (id) on delete cascade,
  to_workspace_id text not null references workspaces (id) on delete cascade,
  moved_at timestamptz not null default now(),
  primary key (line_id, id)
);
call system_table('line_moves');

-- The position up to which the mailbox of an email line has been read, in the carrier's format.
create table line_inboxes (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  position text not null,
  primary key (workspace_id, line_id)
);
call tenant_table('line_inboxes');

-- The account with which a workspace sends an SMS instead of a failed message.
create table fallback_configs (
  workspace_id text primary key references workspaces (id) on delete cascade,
  enabled boolean not null,
  provider text not null check (provider in ('twilio', 'simulated', 'test')),
  account_sid text,
  auth_token_sealed text,
  from_number text,
  messaging_service_sid text,
  default_message text,
  updated_at timestamptz not null default now()
);
call tenant_table('fallback_configs');

-- The lines that carriers report about, with the accounts whose secret may have signed the report. On a cluster the definition differs, with a
-- statement for each workspace (db/distribute.ts).
create function callback_lines(of_lines text[]) returns table (
    id text, workspace_id text, carrier text, carrier_config jsonb, has_moved boolean, provider text, account_sid text,
    auth_token_sealed text, from_number text, messaging_service_sid text
  ) language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
    select l.id::text, l.workspace_id, l.carrier, l.carrier_config, exists (select from line_moves m where m.line_id = l.id),
      f.provider, f.account_sid, f.auth_token_sealed, f.from_number, f.messaging_service_sid
    from unnest(of_lines) asked (id)
    join lookups o on o.kind = 'line' and o.key = asked.id
    join lines l on l.workspace_id = o.workspace_id and l.id = asked.id
    left join fallback_configs f on f.workspace_id = l.workspace_id;
end $$;

-- Availability checks of a line, which are limited per day.
create table availability_checks (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  id object_id not null,
  checked_at timestamptz not null,
  primary key (workspace_id, line_id, id)
);
create index availability_checks_day on availability_checks (workspace_id, line_id, checked_at);
create index availability_checks_age on availability_checks (checked_at);
call tenant_table('availability_checks');

-- The counts from which a line's reputation is computed, per line and UTC day (domain/line-signals.ts). Without foreign keys, like
-- messages: it is written at the end of transactions that must not wait for a workspace or a line.
create table line_signals (
  workspace_id text not null,
  line_id object_id not null,
  day date not null,
  sent integer not null default 0,
  opened integer not null default 0,
  linked integer not null default 0,
  approached integer not null default 0,
  silent integer not null default 0,
  revived integer not null default 0,
  answered integer not null default 0,
  received integer not null default 0,
  undelivered integer not null default 0,
  failed integer not null default 0,
  optouts integer not null default 0,
  complained integer not null default 0,
  bounced integer not null default 0,
  primary key (workspace_id, line_id, day)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index line_signals_day on line_signals (day);
call tenant_table('line_signals');
