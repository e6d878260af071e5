-- The API processes know the lines of a caller as long as the caller (0370).
-- old processes: look up their callers once more
create trigger credentials_changed
  after insert or delete or update of workspace_id, channel, is_active, provisioning_status on lines
  for each statement execute function notify_credentials();
