-- Where a lead is in a campaign whose steps wait, branch or act. Null while its messages are on their way, and in campaigns that only send.
alter table campaign_leads
  add column step_id text,
  add column is_passed boolean not null default false, -- it has passed the step
  add column arrived_at timestamptz,
  add column due_at timestamptz, -- when time alone may let it continue
  add column is_awaiting boolean not null default false; -- whether a change of a fact may, too

-- The step by its id, which stays when steps are added before it.
alter table messages add column step_id text;

-- Leads that a step of another campaign sent on enter without being judged.
alter table campaign_candidates add column is_sent_on boolean not null default false;

-- What was decided about leads on their way, and why.
create table campaign_decisions (
  workspace_id text not null,
  id object_id not null,
  campaign_id object_id not null,
  lead_id object_id not null,
  step_id text not null,
  kind text not null,
  outcome text not null,
  why text not null,
  decided_at timestamptz not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, campaign_id, lead_id) references campaign_leads (workspace_id, campaign_id, lead_id) on delete cascade
);
create index campaign_decisions_lead on campaign_decisions (workspace_id, lead_id, decided_at);
create index campaign_decisions_campaign on campaign_decisions (workspace_id, campaign_id, lead_id);
call tenant_table('campaign_decisions');
