-- no transaction
-- Messages that leave as SMS at once are few, and were looked for among all that a line has due.
create index concurrently messages_forced on messages (workspace_id, line_id, scheduled_at, arrival)
  where force_fallback and status in ('pending', 'scheduled') and not held;
