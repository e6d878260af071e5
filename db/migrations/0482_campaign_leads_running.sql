-- no transaction
-- campaign_leads_version begins with the same columns.
drop index concurrently campaign_leads_running;
