-- no transaction
create index concurrently messages_set_aside on messages (workspace_id, id)
  where hold_reason = 'set_aside' and held and status in ('pending', 'scheduled');
