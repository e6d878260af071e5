-- no transaction
-- The conversations in which the contact wrote last, by their last activity.
create index concurrently conversations_unanswered
  on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where status <> 'closed' and last_inbound_at > coalesce(answered_at, '-infinity');
