-- no transaction
create index concurrently campaign_leads_returning on campaign_leads (workspace_id, return_reply_id) where return_reply_id is not null;
