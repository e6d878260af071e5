-- On all shards of a table, one after the other. Their commands are committed by themselves.
create or replace function on_each_shard(of_table text, command text) returns setof text language plpgsql as $$
declare
  shard record;
begin
  if not exists (select from pg_dist_partition where logicalrelid = of_table::regclass) then
    return query execute format(command, quote_ident(of_table));
    return;
  end if;
  for shard in select * from run_command_on_shards(of_table, command, parallel => false) loop
    if not shard.success then
      raise 'shard % of %: %', shard.shardid, of_table, shard.result;
    end if;
    return next shard.result;
  end loop;
end $$;
