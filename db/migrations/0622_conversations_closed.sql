-- no transaction
-- The closed conversations of a team that closes few of them.
create index concurrently conversations_closed on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where status = 'closed';
