-- no transaction
-- The open conversations of a team that closes most of them, by their last activity.
create index concurrently conversations_not_closed on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where status <> 'closed' and (last_inbound_at is not null or last_outbound_at is not null);
