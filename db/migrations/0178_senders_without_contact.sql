-- no transaction
-- The messages whose sender does not fit the channel of their line, which a metric counts.
create index concurrently inbound_messages_misfit on inbound_messages (created_at) where warning = 'invalid_sender';
