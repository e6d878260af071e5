-- no transaction
-- What a contact wrote to groups.
create index concurrently inbound_messages_participant on inbound_messages (workspace_id, participant) where participant is not null;
