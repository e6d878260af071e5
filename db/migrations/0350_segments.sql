-- Conditions about leads, by name. Who is in a segment is judged when it is asked.
create table segments (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  conditions jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('segments');

-- Whose leads enter instead of those of a list: at the start, or also later (`live`), when all leads are looked at once an hour.
alter table campaigns
  add column segment_id object_id,
  add column audience text not null default 'snapshot' check (audience in ('snapshot', 'live')),
  add column scanned_at timestamptz;

-- Leads that changed, and may have come into the segment of a live campaign.
create table campaign_candidates (
  workspace_id text not null,
  campaign_id object_id not null,
  lead_id object_id not null,
  primary key (workspace_id, campaign_id, lead_id),
  foreign key (workspace_id, campaign_id) references campaigns (workspace_id, id) on delete cascade
);
call tenant_table('campaign_candidates');
