-- Availability checks: 70 a day per line, positive answers remembered, jobs for many leads at once.
-- A line's health: probes in a row that failed.

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

-- Only positive answers: carriers are known to say no by mistake, so a no is asked for again.
create table available_addresses (
  workspace_id text not null references workspaces (id) on delete cascade,
  address text not null,
  checked_at timestamptz not null,
  primary key (workspace_id, address)
);
create index available_addresses_age on available_addresses (checked_at);
call tenant_table('available_addresses');

create table availability_jobs (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  status text not null default 'running' check (status in ('running', 'completed')),
  lead_ids text[] not null,
  checked integer not null default 0,
  available integer not null default 0,
  unavailable integer not null default 0,
  errors integer not null default 0,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('availability_jobs');

alter table lines add column failed_probes integer not null default 0;
create index lines_probe on lines (health_checked_at nulls first) where is_active and provisioning_status = 'active';
