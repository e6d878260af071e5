-- A statement reads one shard, so that its snapshot is that of one node. Workspaces of a node that is down are left out.
create or replace function publications_of(of_workspaces text[])
  returns table (workspace_id text, "position" bigint, pending boolean, shard bigint) language plpgsql stable as $$
#variable_conflict use_column
declare
  before text := first_id(now() + interval '24 hours');
  shard record;
begin
  for shard in
    select get_shard_id_for_distribution_column('event_publications', id) id, array_agg(id) workspaces
    from unnest(of_workspaces) id group by 1
  loop
    begin
      return query
      select w.id, coalesce(p.position, 0), case
          when p.server = (select server_identifier()) and p.published_at > now() - interval '1 hour' then exists (
              select from emitted_events e
              where e.workspace_id = w.id and e.workspace_id = any(shard.workspaces)
                and e.id >= first_id_after(p.published_at) and e.id < before
                and e.transaction_id >= pg_snapshot_xmax(p.snapshot) and e.transaction_id < pg_snapshot_xmax(pg_current_snapshot())
            ) or pg_snapshot_xmin(p.snapshot) < pg_snapshot_xmax(p.snapshot) and exists (
              select from emitted_events e
              where e.workspace_id = w.id and e.workspace_id = any(shard.workspaces)
                and e.transaction_id = any(array(select pg_snapshot_xip(p.snapshot)))
            )
          else true
        end, shard.id
      from unnest(shard.workspaces) w (id)
      left join event_publications p on p.workspace_id = w.id and p.workspace_id = any(shard.workspaces);
    exception when connection_exception then
      null;
    end;
  end loop;
end $$;
