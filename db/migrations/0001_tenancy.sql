-- Three roles besides the owner, none of which owns a table. The API and the workers log in as `linepace_tenant`, which sees one
-- workspace at a time (row-level security), and as `linepace_system`, for work across workspaces. Nobody logs in as
-- `linepace_definer`: it owns the functions that bypass the policies on behalf of a tenant, and can read what these need.
do $$
declare
  wanted text;
begin
  foreach wanted in array array['linepace_tenant', 'linepace_system', 'linepace_definer'] loop
    if not exists (select from pg_roles where rolname = wanted) then
      begin
        execute format('create role %I nologin', wanted);
      exception when duplicate_object or unique_violation then null; -- another database of this cluster was faster
      end;
    end if;
    execute format('grant usage on schema public to %I', wanted);
  end loop;
  -- Temporary tables could shadow those that a function reads, and the processes make none.
  execute format('revoke temporary on database %I from public', current_database());
end $$;

-- 12 bytes in hexadecimal, the first four of which are the time. The two conditions cost a quarter of one regular expression,
-- which an import pays four times for each row.
create domain object_id as text collate "C" check (octet_length(value) = 24 and value ~ '^[0-9a-f]*$');

-- Sets a setting for the rest of the transaction. On a cluster the definition differs, so that the setting reaches the nodes
-- (db/distribute.ts).
create function set_local(name text, value text) returns text language sql
  return set_config(name, value, true);

-- Runs a command on a table, which the command calls %1$s, and returns its rows. On a cluster the definition differs, and runs the
-- command on each shard of the table separately (db/distribute.ts).
create function on_each_shard(of_table text, command text) returns setof text language plpgsql as $$
begin
  return query execute format(command, quote_ident(of_table));
end $$;

-- The workspace of this transaction. A setting that was made with `set_local` reads '' afterwards, hence nullif.
create function current_workspace() returns text language sql stable parallel safe
  return nullif(current_setting('app.workspace_id', true), '');

-- Bulk intake commits requests of several workspaces together, as a login that sees them all. A transaction that names its
-- workspaces here finds and changes rows of no other; one that names none is not restricted.
create function intake_workspaces() returns text[] language sql stable parallel safe
  return string_to_array(nullif(current_setting('app.intake_workspaces', true), ''), ',');

-- ANALYZE records the workspaces of a table. The planner assumes that a newer workspace is empty, so that any index is as good: a
-- lookup by id may then read all of its rows, until the next ANALYZE. So we set the statistics of
-- `workspace_id` ourselves. Until housekeeping records sizes, each workspace is assumed to have all rows of a table.
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

-- Records the sizes of workspaces from a sample of each table. A workspace outside the sample is assumed to have a thousand rows, or
-- all of a smaller table, or a two-hundredth of a larger one, as PostgreSQL assumes of a table without statistics.
create function note_workspace_sizes() returns void language plpgsql security definer
  set search_path = public, pg_temp set lock_timeout = '2s' as $$
declare
  target record;
  found record;
begin
  if current_setting('server_version_num')::int < 180000 then
    return; -- Statistics cannot be written.
  end if;
  perform set_local('app.migrating', 'on');
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
  perform set_local('app.migrating', '');
end $$;
revoke execute on function note_workspace_sizes from public;
grant execute on function note_workspace_sizes to linepace_system;

-- Called for every tenant table: creates its row-level security and its grants. The setting that db/migrate.ts makes opens the owner's
-- policy: a migration may change rows, but a process that logs in as the owner by mistake sees none. A table to
-- which every message, contact or request adds rows has no foreign key to `workspaces`: each row would pay for a check that
-- its workspace exists, which row-level security already ensures, and workspaces are never deleted.
create procedure tenant_table(table_name text, workspace_column text default 'workspace_id') language plpgsql as $$
begin
  execute format('alter table %I enable row level security, force row level security', table_name);
  execute format('create policy tenant on %I to linepace_tenant using (%I = current_workspace()) with check (%I = current_workspace())',
    table_name, workspace_column, workspace_column);
  execute format('create policy system on %I to linepace_system using (true) with check (true)', table_name);
  execute format('create policy owner on %I to %I using (current_setting(''app.migrating'', true) = ''on'')', table_name, current_user);
  execute format('grant select, insert, update, delete on %I to linepace_tenant, linepace_system', table_name);
  -- Partitions keep the statistics that ANALYZE makes of them, and the ids of `workspaces` are unique.
  if workspace_column = 'workspace_id' and exists (select from pg_class where oid = to_regclass(table_name) and relkind = 'r') then
    call own_workspace_statistics(table_name, workspace_column);
  end if;
end $$;

-- Called for every table that belongs to no workspace.
create procedure system_table(table_name text) language plpgsql as $$
begin
  execute format('grant select, insert, update, delete on %I to linepace_system', table_name);
end $$;

-- Called for a tenant's table that bulk intake writes. Intake commits requests of several workspaces together, as a login that
-- sees them all: a transaction that names its workspaces finds and changes rows of no other; one that names none is not
-- restricted.
create procedure intake_table(table_name text) language plpgsql as $$
begin
  -- In subqueries, so that the setting is read once for each statement and not for each row.
  execute format('create policy intake on %I as restrictive to linepace_system
    using ((select intake_workspaces()) is null or workspace_id = any ((select intake_workspaces())::text[]))', table_name);
end $$;

-- Called for every function that bypasses the policies on behalf of a tenant: makes it run as `linepace_definer`, callable only by
-- `caller`; null: for triggers. A new owner needs the create privilege for a moment. The membership is revoked again, because a
-- member would pass the policies of the role without any setting.
create procedure definer_function(name text, caller text default 'linepace_tenant') language plpgsql as $$
begin
  grant linepace_definer to current_user;
  grant create on schema public to linepace_definer;
  execute format('alter function %I owner to linepace_definer', name);
  execute format('revoke execute on function %I from public', name);
  if caller is not null then
    execute format('grant execute on function %I to %I', name, caller);
  end if;
  revoke create on schema public from linepace_definer;
  revoke linepace_definer from current_user;
end $$;

revoke execute on procedure own_workspace_statistics, tenant_table, system_table, intake_table, definer_function from public;
