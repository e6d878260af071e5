-- no transaction
-- Likewise those of a campaign.
create index concurrently messages_campaign_failed on messages (workspace_id, campaign_id, id)
  where status = 'failed' and campaign_id is not null;
