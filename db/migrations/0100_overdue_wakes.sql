-- The workflows that are overdue, those first whose sweep was due first. A cluster defines it differently, so that it works while a
-- node is down (db/distribute.ts).
create function overdue_wakes(most int) returns table (workspace_id text, workflow_id text) language sql stable as $$
  select w.workspace_id, w.workflow_id from workflow_wakes w where w.sweep_at < now() and w.sweep_at < 'infinity'
  order by w.sweep_at limit most
$$;

-- Claims overdue workflows for the sweep (db/wakes.ts). Each moves to the end of the queue. Locked rows are skipped, which takes one
-- statement per workspace where workspaces are distributed.
--   age_factor: the age of an overdue workflow, times this, is the pause before its next signal.
create or replace function claim_overdue(most int, age_factor int, longest interval)
  returns table (workspace_id text, workflow_id text, signal text) language plpgsql as $$
#variable_conflict use_column
declare
  due record;
begin
  for due in select workspace_id, array_agg(workflow_id) workflow_ids from overdue_wakes(most) group by workspace_id
  loop
    return query
    with free as materialized (
      select workflow_id,
        now() + case when wake_at < now() then least((now() - wake_at) * age_factor, longest) else longest end next_sweep
      from workflow_wakes
      where workspace_id = due.workspace_id and workflow_id = any(due.workflow_ids) and sweep_at < now()
      for update skip locked
    )
    update workflow_wakes w set sweep_at = free.next_sweep
    from free where w.workspace_id = due.workspace_id and w.workflow_id = free.workflow_id
    returning w.workspace_id, w.workflow_id, w.signal;
  end loop;
end $$;
