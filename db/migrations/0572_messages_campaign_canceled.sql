-- no transaction
-- Likewise those of a campaign.
create index concurrently messages_campaign_canceled on messages (workspace_id, campaign_id, id)
  where status = 'canceled' and campaign_id is not null;
