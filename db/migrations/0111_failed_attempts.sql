-- The attempts that the index of usage leaves out, for the question how the latest calls for a line ended.
create index attempts_not_sent on attempts (workspace_id, line_id, started_at)
  where kind = 'primary' and outcome in ('transient', 'not_sent', 'refused', 'unavailable');
