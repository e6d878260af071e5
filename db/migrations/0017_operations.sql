-- Who changed what. The system adds entries and deletes them after 400 days; nobody changes one.
create table audit_log (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  at timestamptz not null default now(),
  channel text not null check (channel in ('api', 'session', 'operator', 'system')),
  actor_type text not null check (actor_type in ('user', 'key', 'operator', 'system')),
  actor_id text,
  actor_name text, -- at that time
  action text not null,
  target_type text not null,
  target_id text not null,
  reason text,
  changes jsonb not null default '{}',
  primary key (workspace_id, id)
);
create index audit_log_age on audit_log (at);
call tenant_table('audit_log');
revoke update, delete on audit_log from linepace_tenant;
revoke update on audit_log from linepace_system;

-- The same for changes of an agency outside its workspaces.
create table agency_audit_log (
  agency_id text not null references agencies (id) on delete cascade,
  id object_id not null,
  at timestamptz not null default now(),
  channel text not null check (channel in ('api', 'session', 'operator', 'system')),
  actor_type text not null check (actor_type in ('user', 'key', 'operator', 'system')),
  actor_id text,
  actor_name text,
  action text not null,
  target_type text not null,
  target_id text not null,
  reason text,
  changes jsonb not null default '{}',
  primary key (agency_id, id)
);
create index agency_audit_log_age on agency_audit_log (at);
call system_table('agency_audit_log');
revoke update on agency_audit_log from linepace_system;

-- The requests of a workspace: what was called, by whom, and how it ended. No addresses, no queries, no bodies. Rows are
-- written in batches in the background, so there is no foreign key, which would lock the workspace.
create table request_log (
  workspace_id text not null,
  id object_id not null,
  -- When the response began; of several requests, that of the first.
  at timestamptz not null,
  method text not null,
  -- The declared path: /api/messages/{id}.
  path text not null,
  status smallint not null,
  code text,
  request_id text not null,
  actor_type text not null,
  actor_id text,
  actor_name text,
  -- Of several requests, that of the slowest.
  duration_ms integer not null,
  -- Requests of bulk intake that succeeded within seconds share a row.
  count integer not null default 1,
  primary key (workspace_id, id)
) partition by range (id);
-- Most requests succeed, but most users search for failed ones.
create index request_log_failed on request_log (workspace_id, id) where status >= 400;
call tenant_table('request_log');
call daily_table('request_log');

-- When background work was last completed: the sweep, by workers, and the backup, by the script that makes it.
create table recorded_runs (
  run text primary key check (run in ('sweep', 'backup')),
  completed_at timestamptz not null
);
grant select, insert, update on recorded_runs to linepace_system;
