-- A message returns to the queue if its carrier reports later that it did not send it because of the account.
create or replace function message_status_moves_forward() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and not (old.status, new.status) in (
    ('pending', 'scheduled'),
    ('pending', 'sending'), ('scheduled', 'sending'), ('sending', 'scheduled'), ('sent', 'scheduled'),
    ('pending', 'canceled'), ('scheduled', 'canceled'),
    ('pending', 'failed'), ('scheduled', 'failed'), ('sending', 'failed'),
    ('sending', 'sent'), ('sending', 'delivered'), ('sending', 'fallback'), ('pending', 'fallback'), ('scheduled', 'fallback'),
    ('sent', 'delivered'), ('sent', 'failed'), ('sent', 'fallback')
  ) then
    raise exception 'a message cannot go from % to %', old.status, new.status using errcode = 'check_violation', constraint = 'message_status_moves_forward';
  end if;
  return new;
end $$;
