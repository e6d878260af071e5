-- Who changed what. Entries are added and, after 400 days, deleted by the system; nobody changes one.
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
create index audit_log_age on audit_log using brin (at);
call tenant_table('audit_log');
revoke update, delete on audit_log from linepace_tenant;
revoke update on audit_log from linepace_system;

-- The same for what an agency changes outside of its workspaces.
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
create index agency_audit_log_age on agency_audit_log using brin (at);
call system_table('agency_audit_log');
revoke update on agency_audit_log from linepace_system;
