-- no transaction
-- As those that failed: few messages are canceled, and the newest of a line are read without the messages in between.
create index concurrently messages_line_canceled on messages (workspace_id, line_id, id) where status = 'canceled';
