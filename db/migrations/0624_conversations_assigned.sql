-- no transaction
-- What is assigned to one member, by its last activity.
create index concurrently conversations_assigned on conversations (workspace_id, assignee_id, greatest(last_inbound_at, last_outbound_at), address)
  where assignee_id is not null;
