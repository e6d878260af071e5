-- Tells the API processes that what they know of keys and their workspaces may have changed. A statement notifies once,
-- without a payload: such changes are rare, and a process then forgets all of it.
create function notify_credentials() returns trigger language plpgsql as $$
begin
  notify credentials;
  return null;
end $$;

create trigger credentials_changed
  after delete or update of hash, name, created_by_user_id, revoked_at, expires_at on workspace_keys
  for each statement execute function notify_credentials();
create trigger credentials_changed
  after delete or update of agency_id, timezone, country, subscription_status on workspaces
  for each statement execute function notify_credentials();
