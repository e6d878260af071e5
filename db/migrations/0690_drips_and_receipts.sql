-- drip_claims (0550) has replaced this table and what kept the two in step.
-- old processes: none has run outside of development
drop table drip_fingerprints;
-- old processes: only the trigger of that table called it
drop function claim_wide_drip;
-- old processes: only that trigger and the erasure of its rows called it
drop function narrow_fingerprint;

delete from drip_claims where message_id is null;
-- old processes: every drip has an id
alter table drip_claims alter column message_id set not null;

-- A message whose carrier reports its arrival before it answers is written once (domain/message-status.ts).
create or replace function message_status_moves_forward() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and not (old.status, new.status) in (
    ('pending', 'scheduled'),
    ('pending', 'sending'), ('scheduled', 'sending'), ('sending', 'scheduled'),
    ('pending', 'canceled'), ('scheduled', 'canceled'),
    ('pending', 'failed'), ('scheduled', 'failed'), ('sending', 'failed'),
    ('sending', 'sent'), ('sending', 'delivered'),
    ('sending', 'fallback'), ('pending', 'fallback'), ('scheduled', 'fallback'),
    ('sent', 'delivered'), ('sent', 'failed'), ('sent', 'fallback')
  ) then
    raise exception 'a message cannot go from % to %', old.status, new.status using errcode = 'check_violation', constraint = 'message_status_moves_forward';
  end if;
  return new;
end $$;
