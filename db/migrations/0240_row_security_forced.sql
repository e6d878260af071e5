-- Row-level security holds for the owner of the tables as well. The processes log in as linepace_tenant and
-- linepace_system themselves, so that no `reset role` leads to more (db/pool.ts checks this).

-- Owns what looks past the policies on behalf of a tenant, and reads exactly what that needs. Nobody logs in as it.
do $$
begin
  if not exists (select from pg_roles where rolname = 'linepace_definer') then
    begin
      create role linepace_definer nologin;
    exception when duplicate_object or unique_violation then null; -- another database of this cluster was faster
    end;
  end if;
end $$;
grant linepace_definer to current_user; -- until the end of this file

-- Called for every table of a tenant: its row-level security and its grants. The owner's policy opens with the setting
-- that db/migrate.ts makes: a migration may change rows, while a process that logs in as the owner by mistake sees none.
create or replace procedure tenant_table(table_name text, workspace_column text default 'workspace_id') language plpgsql as $$
begin
  execute format('alter table %I enable row level security, force row level security', table_name);
  execute format('create policy tenant on %I to linepace_tenant using (%I = current_workspace()) with check (%I = current_workspace())',
    table_name, workspace_column, workspace_column);
  execute format('create policy system on %I to linepace_system using (true) with check (true)', table_name);
  execute format('create policy owner on %I to %I using (current_setting(''app.migrating'', true) = ''on'')', table_name, current_user);
  execute format('grant select, insert, update, delete on %I to linepace_tenant, linepace_system', table_name);
end $$;
revoke execute on procedure tenant_table, system_table from public;

do $$
declare
  tenants text;
begin
  for tenants in select tablename from pg_policies where schemaname = 'public' and policyname = 'tenant' loop
    execute format('alter table %I force row level security', tenants);
    execute format('create policy owner on %I to %I using (current_setting(''app.migrating'', true) = ''on'')', tenants, current_user);
  end loop;
end $$;

grant usage on schema public to linepace_definer;
grant select on users, agencies, workspaces, workspace_members, leads, list_addresses to linepace_definer;
create policy definer on workspaces for select to linepace_definer using (true);
create policy definer on workspace_members for select to linepace_definer using (true);
create policy definer on leads for select to linepace_definer using (true);
create policy definer on list_addresses for select to linepace_definer using (true);

-- An owner needs the right to create while it becomes one.
grant create on schema public to linepace_definer;
alter function current_billing_mode owner to linepace_definer;
alter function current_team owner to linepace_definer;
alter function search_leads owner to linepace_definer;
alter view workspace_users owner to linepace_definer;
revoke create on schema public from linepace_definer;
revoke execute on function current_billing_mode, current_team from public;
grant execute on function current_billing_mode, current_team to linepace_tenant;

-- A workspace is made and removed by the system; its tenant changes its settings.
revoke insert, delete on workspaces from linepace_tenant;

-- As a member, the owner would pass their policies without any setting.
revoke linepace_tenant, linepace_system, linepace_definer from current_user;
