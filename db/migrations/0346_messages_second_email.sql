-- no transaction
-- The other way round.
create index concurrently messages_second_email on messages (workspace_id, recipient_email) where recipient_email <> address;
