-- The last dry run of the autopilot: what it would have written where a person of the workspace answered.
create table autopilot_dry_runs (
  workspace_id text primary key references workspaces (id) on delete cascade,
  autopilot jsonb not null, -- the limits that are tried
  requested_at timestamptz not null default now(),
  finished_at timestamptz
);
create index autopilot_dry_runs_age on autopilot_dry_runs (requested_at);
call tenant_table('autopilot_dry_runs');

create table autopilot_cases (
  workspace_id text not null references autopilot_dry_runs (workspace_id) on delete cascade,
  reply_id object_id not null,
  message_id object_id not null, -- what the person answered
  address text not null, -- the key of the contact
  draft text,
  confidence double precision,
  held_back_by text, -- null: the autopilot would have sent the draft
  error text, -- why there is no draft
  judged_at timestamptz,
  primary key (workspace_id, reply_id)
);
call tenant_table('autopilot_cases');
