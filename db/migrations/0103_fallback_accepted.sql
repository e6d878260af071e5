-- no transaction
-- The contacts of a day who got a fallback SMS. `fallback_at` of such a message is when its SMS was accepted.
create index concurrently messages_fallback_accepted on messages (workspace_id, fallback_at) where fallback_sms = 'dispatched';
