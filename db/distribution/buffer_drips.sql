-- `buffer_drips` names the workspaces in its query of claims: a join alone does not say which nodes have them.
do $$
declare
  function regprocedure := (select oid from pg_proc where proname = 'buffer_drips');
  definition text := pg_get_functiondef(function);
  on_claims text := 'c.fingerprint = decode(d.fingerprint, ''hex'')';
begin
  if strpos(definition, 'of_batch') > 0 then return; end if;
  if strpos(definition, on_claims) = 0 then raise 'buffer_drips has no %', on_claims; end if;
  definition := replace(definition, on_claims, on_claims || ' and c.workspace_id = any(of_batch)');
  execute replace(definition, 'filled text[];', 'filled text[];
    of_batch text[] := array(select distinct d.workspace_id from jsonb_to_recordset(batch) as d (workspace_id text));');
end $$;
