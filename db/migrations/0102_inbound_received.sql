-- Analytics count every inbound message of a window, automatic answers included.
create index inbound_messages_received on inbound_messages (workspace_id, received_at);
