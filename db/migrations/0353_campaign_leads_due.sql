-- no transaction
-- The leads that wait at a step. Those whose messages are on their way are not in it.
create index concurrently campaign_leads_due on campaign_leads (workspace_id, campaign_id, due_at)
  where state = 'running' and due_at is not null;
