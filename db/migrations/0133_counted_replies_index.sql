-- no transaction
-- Like inbound_messages_counted, for the replies that count.
create index concurrently inbound_messages_counted_replies on inbound_messages (workspace_id, received_at)
  include (address, auto_reply, line_id, campaign_id) where counted;
