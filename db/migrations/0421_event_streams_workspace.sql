-- Streams are also counted by workspace. Those of the release before have none.
alter table event_streams add column workspace_id text;
create index event_streams_workspace on event_streams (workspace_id);
call own_workspace_statistics('event_streams', 'workspace_id');
