-- no transaction
create index concurrently conversations_snoozed on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where status = 'snoozed';
