-- Asks only the nodes that respond. Workflows of a node that is down are swept when it is back.
create or replace function overdue_wakes(most int) returns table (workspace_id text, workflow_id text) language sql stable as $$
  select o.workspace_id, o.workflow_id
  from run_command_on_shards('workflow_wakes', 'select coalesce(json_agg(due), ''[]'') from (
    select workspace_id, workflow_id, sweep_at from %s where sweep_at < now() and sweep_at < ''infinity''
    order by sweep_at limit ' || most || ') due', parallel => false) shard,
  json_to_recordset(shard.result::json) o (workspace_id text, workflow_id text, sweep_at timestamptz)
  where shard.success order by o.sweep_at limit most
$$;
