-- Functions that run on nodes take no generic plans.
do $$
declare
  function regprocedure;
begin
  for function in select oid from pg_proc where array_to_string(proconfig, ' ') ~ 'plan_cache_mode=' loop
    execute format('alter function %s reset plan_cache_mode', function);
  end loop;
end $$;
