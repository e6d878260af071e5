-- `notify_credentials` on the coordinator alone, where the API processes listen: a transaction that notifies cannot be prepared.
create or replace function notify_credentials() returns trigger language plpgsql as $$
begin
  if (select groupid from pg_dist_local_group) = 0 then
    notify credentials;
  end if;
  return null;
end $$;
