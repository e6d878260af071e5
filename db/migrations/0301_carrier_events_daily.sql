-- no transaction
-- The key that the table has as the first partition: built while it is written.
create unique index concurrently carrier_events_daily on carrier_events (workspace_id, line_id, event_id, received_on);
