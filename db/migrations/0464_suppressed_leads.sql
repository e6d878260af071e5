-- Leads of a campaign whose address an agency suppresses stop for that reason, no longer as if their messages could not be delivered.
-- old processes: the reasons that they know are still allowed.
alter table campaign_leads drop constraint campaign_leads_stop_reason_check;
-- old processes: as above.
alter table campaign_leads add constraint campaign_leads_stop_reason_check
  check (stop_reason in ('reply', 'opt_out', 'suppressed', 'failed', 'no_address', 'no_consent', 'removed', 'stop_condition')) not valid;
