-- A two-hundredth of a small table is less than a row, so any index was as good again: each receipt of a new installation read
-- all attempts. A workspace that is not in the statistics is now taken to have a thousand rows, or all of a smaller table, or a
-- two-hundredth of a larger one.
create or replace function note_workspace_sizes() returns void language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  target record;
  found record;
begin
  if current_setting('server_version_num')::int < 180000 then
    return; -- Statistics cannot be written.
  end if;
  perform set_config('app.migrating', 'on', true);
  for target in
    select c.relname::text as name, c.reltuples, greatest(0.005, 1000 / c.reltuples) as of_unknown
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attname = 'workspace_id' and a.attstattarget = 0
      and c.reltuples > 1000
  loop
    execute format('
      select array_agg(workspace_id order by size desc)::text as ids, array_agg((size * (1 - $1))::real order by size desc) as sizes,
        count(*) + (1 - coalesce(sum(size), 0) * (1 - $1)) / $1 as workspaces
      from (
        select workspace_id, count(*) / sum(count(*)) over () as size
        from %I tablesample system ($2) where workspace_id is not null group by workspace_id
      ) s where size > $1', target.name)
      into found using target.of_unknown, least(100, 100 * 30000 / target.reltuples);
    begin
      perform pg_clear_attribute_stats('public', target.name, 'workspace_id', false);
      perform pg_restore_attribute_stats('schemaname', 'public', 'relname', target.name, 'attname', 'workspace_id', 'inherited', false,
        'null_frac', 0::real, 'avg_width', 29, 'n_distinct', found.workspaces::real,
        'most_common_vals', found.ids, 'most_common_freqs', found.sizes);
    exception
      when lock_not_available then null; -- a vacuum is at work
    end;
  end loop;
  perform set_config('app.migrating', '', true);
end $$;

-- Until housekeeping records sizes, each workspace is taken to have all rows of a table.
create procedure own_workspace_statistics(table_name text, workspace_column text) language plpgsql as $$
begin
  if current_setting('server_version_num')::int < 180000 then
    return;
  end if;
  execute format('alter table %I alter %I set statistics 0', table_name, workspace_column);
  perform pg_clear_attribute_stats('public', table_name, workspace_column, false);
  perform pg_restore_attribute_stats('schemaname', 'public', 'relname', table_name, 'attname', workspace_column, 'inherited', false,
    'null_frac', 0::real, 'avg_width', 29, 'n_distinct', 1::real);
end $$;

create or replace procedure tenant_table(table_name text, workspace_column text default 'workspace_id') language plpgsql as $$
begin
  execute format('alter table %I enable row level security, force row level security', table_name);
  execute format('create policy tenant on %I to linepace_tenant using (%I = current_workspace()) with check (%I = current_workspace())',
    table_name, workspace_column, workspace_column);
  execute format('create policy system on %I to linepace_system using (true) with check (true)', table_name);
  execute format('create policy owner on %I to %I using (current_setting(''app.migrating'', true) = ''on'')', table_name, current_user);
  execute format('grant select, insert, update, delete on %I to linepace_tenant, linepace_system', table_name);
  call own_workspace_statistics(table_name, workspace_column);
end $$;

do $$
declare
  name text;
begin
  for name in
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and not c.relispartition and a.attname = 'workspace_id'
  loop
    call own_workspace_statistics(name, 'workspace_id');
  end loop;
  perform note_workspace_sizes();
end $$;
