-- Days are those of the zones that the processes know. PostgreSQL takes names like `CET` for an offset that is the same all
-- year, so such workspaces are counted anew.
update analytics_progress set is_complete = false where time_zone not like '%/%' and time_zone <> 'UTC';
delete from analytics_days where workspace_id in (select workspace_id from analytics_progress where not is_complete);
-- The address of a contact, and needed only until all contacts are counted.
update analytics_progress set counted_to = '';

-- Vacuum would lock the table to return space that the next messages need again.
alter table analytics_changes set (vacuum_truncate = off);

-- A connection keeps the plan of the function, and one made while `messages` was small would read all of it for each reply.
alter function note_reply_change() set enable_seqscan = off;
