-- no transaction
create index concurrently messages_lanes on messages (workspace_id, line_id, is_new, lane, scheduled_at, arrival)
  where status in ('pending', 'scheduled') and not held and not force_fallback;
