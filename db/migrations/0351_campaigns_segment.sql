-- no transaction
create index concurrently campaigns_segment on campaigns (workspace_id, segment_id) where segment_id is not null;
