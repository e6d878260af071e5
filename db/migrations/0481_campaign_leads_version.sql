-- no transaction
-- The leads under way, those first that do not go by the last version of the steps yet.
create index concurrently campaign_leads_version on campaign_leads (workspace_id, campaign_id, version) where state = 'running';
