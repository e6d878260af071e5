-- Requests of workflows have the id of the node's transaction too, also those that another server inserts. The workflow's own
-- decisions have the ids that it has seen.
create or replace function requested_on_node() returns trigger language plpgsql as $$
begin
  if new.lowered_by <> '0' then
    new.requested_by := pg_current_xact_id();
    new.lowered_by := new.requested_by;
  end if;
  return new;
end $$;
