-- The group of the node, as Citus numbers them.
create or replace function node_of(workspace text) returns int language plpgsql stable as $$
begin
  return (
    select groupid from pg_dist_placement where shardid = get_shard_id_for_distribution_column('drip_buffer', workspace) limit 1
  );
end $$;
