-- No statement that is for several nodes may skip rows that are locked.
create or replace function record_healthy(of_workspaces text[], of_lines text[], at timestamptz[]) returns setof text
  language plpgsql as $$
declare
  own record;
begin
  for own in
    select workspace_id, array_agg(id) ids, array_agg(checked_at) times
    from unnest(of_workspaces, of_lines, at) k (workspace_id, id, checked_at) group by 1
  loop
    return query
      with known as materialized (
        select l.id, k.checked_at from unnest(own.ids, own.times) k (id, checked_at)
        join lines l on l.workspace_id = own.workspace_id and l.id = k.id
        where l.health_status <> 'down'
        for no key update of l skip locked
      )
      update lines l set health_status = 'healthy', failed_probes = 0, health_checked_at = known.checked_at
      from known where l.workspace_id = own.workspace_id and l.id = known.id
      returning l.id::text;
  end loop;
end $$;
