-- The twin of a workspace has its name.
-- old processes: they rename as before, and the twin follows.
grant update (name) on workspaces to linepace_definer;
create policy definer_renames on workspaces for update to linepace_definer
  using (live_workspace_id is not null) with check (live_workspace_id is not null);

create function rename_twin() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update workspaces set name = new.name where live_workspace_id = new.id;
  return null;
end $$;
create trigger rename_twin after update of name on workspaces
  for each row when (new.name is distinct from old.name) execute function rename_twin();
call definer_function('rename_twin', caller => null);

update workspaces twin set name = live.name
from workspaces live where live.id = twin.live_workspace_id and live.name <> twin.name;
