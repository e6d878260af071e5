-- Bulk intake commits the drips of workspaces together that are on one server, which on a cluster needs no other one.

-- The server that has the rows of a workspace, as a number. On a cluster the definition differs (db/distribute.ts).
create function node_of(workspace text) returns int language sql immutable parallel safe return 0;

-- `buffer_drips` as a transaction of its own. On a cluster it runs on the node that has `of_workspace`, so the other workspaces should be
-- there too.
create function buffer_drips_on_node(of_workspace text, batch jsonb, drainer text, look_at timestamptz, wake_signal text,
  of_workspaces text, out duplicates json, out woken text[]) language plpgsql as $$
begin
  select b.duplicates, b.woken into duplicates, woken from buffer_drips(batch, drainer, look_at, wake_signal, of_workspaces) b;
end $$;
