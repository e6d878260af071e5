-- The policy of `intake_table`, without the subquery that nodes refuse.
do $$
declare
  of_table regclass;
begin
  for of_table in select polrelid from pg_policy where polname = 'intake' and pg_get_expr(polqual, polrelid) ~* 'select' loop
    execute format('drop policy intake on %s', of_table);
    execute format('create policy intake on %s as restrictive to linepace_system
      using (intake_workspaces() is null or workspace_id = any (intake_workspaces()))', of_table);
  end loop;
end $$;
