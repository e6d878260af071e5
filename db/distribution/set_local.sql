-- `set_local` by a statement, because nodes get no setting that `set_config` makes. The coordinator chooses plans by the shards that
-- parameters name, so it takes no generic plan.
create or replace function set_local(name text, value text) returns text language plpgsql as $$
begin
  if name <> 'plan_cache_mode' then
    execute format('set local %s = %L', name, value);
  end if;
  return value;
end $$;
