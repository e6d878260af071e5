-- no transaction
-- The contacts of a day who got a fallback SMS only.
create index concurrently messages_fallback_sent on messages (workspace_id, updated_at)
  where fallback_sms = 'dispatched' and sent_at is null;
