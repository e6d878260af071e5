-- no transaction
-- The same of replies.
create index concurrently inbound_messages_counted on inbound_messages (workspace_id, received_at)
  include (address, auto_reply, line_id, campaign_id);
