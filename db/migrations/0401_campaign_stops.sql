-- What stops the leads of a campaign, apart from a reply; and whether a reply stops a lead, pauses it, or does nothing.
alter table campaigns
  add column stop_when jsonb not null default '[]',
  add column pause_on_reply boolean not null default false; -- only if not stop_on_reply

-- old processes: the reasons that they know are still allowed.
alter table campaign_leads drop constraint campaign_leads_stop_reason_check;
-- old processes: as above.
alter table campaign_leads add constraint campaign_leads_stop_reason_check
  check (stop_reason in ('reply', 'opt_out', 'failed', 'no_address', 'no_consent', 'removed', 'stop_condition')) not valid;

-- A lead whose messages wait, since when and why: until a time, or until somebody lets it continue.
alter table campaign_leads
  add column paused_at timestamptz,
  add column pause_reason text,
  add column resumes_at timestamptz;
