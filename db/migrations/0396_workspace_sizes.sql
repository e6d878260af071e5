-- ANALYZE records the workspaces that a table has. The planner takes a newer one to be empty, for which any index is as good:
-- a lookup by id may then read all of its rows, until the next ANALYZE of a table that others fill. So the statistics of
-- `workspace_id` are ours: the sizes of workspaces in a sample, and a two-hundredth of the rows for one that is not in it.
-- That is what PostgreSQL assumes of a table without statistics.
create function note_workspace_sizes() returns void language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  of_sample constant real := 0.995;
  target record;
  found record;
begin
  if current_setting('server_version_num')::int < 180000 then
    return; -- Statistics cannot be written.
  end if;
  perform set_config('app.migrating', 'on', true);
  for target in
    select c.relname::text as name, c.reltuples from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attname = 'workspace_id' and a.attstattarget = 0
      and c.reltuples >= 1000
  loop
    execute format('
      select array_agg(workspace_id order by size desc)::text as ids, array_agg((size * $1)::real order by size desc) as sizes,
        max(workspaces) + 1 as workspaces
      from (
        select workspace_id, count(*) / sum(count(*)) over () as size, count(*) over () as workspaces
        from %I tablesample system ($2) where workspace_id is not null group by workspace_id order by size desc limit 100
      ) s', target.name)
      into found using of_sample, least(100, 100 * 30000 / target.reltuples);
    continue when found.ids is null;
    begin
      perform pg_restore_attribute_stats('schemaname', 'public', 'relname', target.name, 'attname', 'workspace_id', 'inherited', false,
        'null_frac', 0::real, 'avg_width', 29, 'n_distinct', found.workspaces::real,
        'most_common_vals', found.ids, 'most_common_freqs', found.sizes);
    exception
      when lock_not_available then null; -- a vacuum is at work
    end;
  end loop;
  perform set_config('app.migrating', '', true);
end $$;
-- old processes: do not know it
revoke execute on function note_workspace_sizes from public;
grant execute on function note_workspace_sizes to linepace_system;

create or replace procedure tenant_table(table_name text, workspace_column text default 'workspace_id') language plpgsql as $$
begin
  execute format('alter table %I enable row level security, force row level security', table_name);
  execute format('create policy tenant on %I to linepace_tenant using (%I = current_workspace()) with check (%I = current_workspace())',
    table_name, workspace_column, workspace_column);
  execute format('create policy system on %I to linepace_system using (true) with check (true)', table_name);
  execute format('create policy owner on %I to %I using (current_setting(''app.migrating'', true) = ''on'')', table_name, current_user);
  execute format('grant select, insert, update, delete on %I to linepace_tenant, linepace_system', table_name);
  if current_setting('server_version_num')::int >= 180000 then
    execute format('alter table %I alter %I set statistics 0', table_name, workspace_column);
  end if;
end $$;

do $$
declare
  name text;
begin
  if current_setting('server_version_num')::int < 180000 then
    return;
  end if;
  for name in
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and not c.relispartition and a.attname = 'workspace_id'
  loop
    perform pg_clear_attribute_stats('public', name, 'workspace_id', false);
    execute format('alter table %I alter workspace_id set statistics 0', name);
  end loop;
  perform note_workspace_sizes();
end $$;
