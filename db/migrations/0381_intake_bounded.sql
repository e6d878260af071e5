-- Bulk intake commits requests of several workspaces together, as a login that sees them all. A transaction that names its
-- workspaces here finds and changes rows of no other; one that names none is not restricted.
create function intake_workspaces() returns text[] language sql stable parallel safe
  return string_to_array(nullif(current_setting('app.intake_workspaces', true), ''), ',');

do $$
declare
  intake_table text;
begin
  foreach intake_table in array array['drip_buffer', 'drip_fingerprints', 'idempotency_keys'] loop
    -- In subqueries, so that the setting is read once for each statement and not for each row.
    execute format('create policy intake on %I as restrictive to linepace_system
      using ((select intake_workspaces()) is null or workspace_id = any ((select intake_workspaces())::text[]))', intake_table);
  end loop;
end $$;
