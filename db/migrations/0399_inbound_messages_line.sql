-- no transaction
-- The newest replies of a line, which were looked for among those of the workspace.
create index concurrently inbound_messages_line on inbound_messages (workspace_id, line_id, received_at, id) where not auto_reply;
