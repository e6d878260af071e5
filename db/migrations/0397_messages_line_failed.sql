-- no transaction
-- Few messages fail, and no others are ever in it: the newest of a line are read without the messages in between.
create index concurrently messages_line_failed on messages (workspace_id, line_id, id) where status = 'failed';
