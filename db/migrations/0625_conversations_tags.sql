-- no transaction
-- Conversations with tags, by their last activity.
create index concurrently conversations_tags on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where tags <> '{}';
