-- no transaction
-- The messages that failed lately, which wait for a person. Few fail.
create index concurrently messages_failed on messages (workspace_id, updated_at) where status = 'failed';
