-- `buffer_drips` names the workspaces in each of its queries: a join alone does not say which nodes have them.
do $$
declare
  function regprocedure := (select oid from pg_proc where proname = 'buffer_drips');
  definition text := pg_get_functiondef(function);
  joins text[] := array['c.fingerprint = decode(d.fingerprint, ''hex'')', 'w.workflow_id = drainer || f.id'];
  conditions text[] := array['c.workspace_id = any(of_batch)', 'w.workspace_id = any(filled)'];
begin
  if strpos(definition, 'of_batch') > 0 then return; end if;
  for n in 1 .. 2 loop
    if strpos(definition, joins[n]) = 0 then raise 'buffer_drips has no %', joins[n]; end if;
    definition := replace(definition, joins[n], joins[n] || ' and ' || conditions[n]);
  end loop;
  execute replace(definition, 'filled text[];', 'filled text[];
    of_batch text[] := array(select distinct d.workspace_id from jsonb_to_recordset(batch) as d (workspace_id text));');
end $$;
