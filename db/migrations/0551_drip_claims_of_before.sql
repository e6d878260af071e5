-- In a transaction after the one of the trigger, so that none is missed and intake does not wait for the copy.
insert into drip_claims (workspace_id, fingerprint, scheduled_at, jitter_ms, created_at)
select workspace_id, narrow_fingerprint(fingerprint), (acknowledgement ->> 'scheduledDate')::timestamptz,
  (acknowledgement ->> 'jitterMs')::int, created_at
from drip_fingerprints
on conflict (workspace_id, fingerprint) do nothing;
