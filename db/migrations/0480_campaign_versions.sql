-- The steps of a campaign that was edited while it ran, by its versions from the first that was edited on.
create table campaign_versions (
  workspace_id text not null,
  campaign_id object_id not null,
  version integer not null,
  steps jsonb not null,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  primary key (workspace_id, campaign_id, version),
  foreign key (workspace_id, campaign_id) references campaigns (workspace_id, id) on delete cascade
);
call tenant_table('campaign_versions');

-- All steps that a campaign ever had, whose places are the numbers by which messages name them; null: those that it has, in reading order.
alter table campaigns add column step_ids text[];

-- By the steps of which version a lead goes.
alter table campaign_leads add column version integer not null default 1;
-- Until now, all steps stayed in their places.
update campaign_leads l set version = c.version from campaigns c
where c.workspace_id = l.workspace_id and c.id = l.campaign_id and c.version > 1;
