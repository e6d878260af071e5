-- Events have the id of the node's transaction. The coordinator would give them the default, of its own.
create or replace function transaction_of_node() returns trigger language plpgsql as $$
begin
  new.transaction_id := pg_current_xact_id();
  return new;
end $$;
