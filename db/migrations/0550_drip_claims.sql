-- What makes drips with the same recipient and body one message within 60 minutes. Narrow, because one is written for every
-- drip: beside the fingerprint, what the response to a duplicate repeats. It replaces drip_fingerprints.
create table drip_claims (
  workspace_id text not null, -- without a foreign key, like drip_buffer (0380)
  fingerprint bytea not null, -- 16 bytes
  message_id bytea, -- the 12 bytes of the id; null if a process of the release before accepted the drip
  scheduled_at timestamptz not null,
  jitter_ms int not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, fingerprint)
);
create index drip_claims_age on drip_claims (created_at);
call tenant_table('drip_claims');
create policy intake on drip_claims as restrictive to linepace_system
  using ((select intake_workspaces()) is null or workspace_id = any ((select intake_workspaces())::text[]));

-- The fingerprint of a drip as processes of the release before write it: SHA-256 in base64url.
create function narrow_fingerprint(wide text) returns bytea language sql immutable strict parallel safe
  return substring(decode(rpad(translate(wide, '-_', '+/'), (length(wide) + 3) / 4 * 4, '='), 'base64') for 16);

-- They write to drip_fingerprints. What they claim there is claimed here as well, and what is claimed here they do not get.
create function claim_wide_drip() returns trigger language plpgsql as $$
begin
  insert into drip_claims as c (workspace_id, fingerprint, scheduled_at, jitter_ms)
  values (new.workspace_id, narrow_fingerprint(new.fingerprint),
    (new.acknowledgement ->> 'scheduledDate')::timestamptz, (new.acknowledgement ->> 'jitterMs')::int)
  on conflict (workspace_id, fingerprint) do update
    set message_id = null, scheduled_at = excluded.scheduled_at, jitter_ms = excluded.jitter_ms, created_at = now()
    where c.created_at < now() - interval '60 minutes';
  return case when found then new end;
end $$;
-- old processes: take a fingerprint that they do not get for that of a duplicate
create trigger claim_wide_drip before insert on drip_fingerprints
  for each row execute function claim_wide_drip();
