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
