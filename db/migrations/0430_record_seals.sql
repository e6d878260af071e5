-- Keyed hashes of audit entries, consents and sent messages, in a chain for each workspace, so that a later change of the tables
-- shows (docs/compliance.md). They name no contact, so an erasure leaves them.
create table record_seals (
  workspace_id text not null,
  position bigint not null, -- from 1, without gaps
  kind text not null check (kind in ('audit', 'consent', 'send')),
  record_id object_id not null, -- of an audit entry, a consent or an attempt
  digest text not null, -- of what was recorded
  previous text not null, -- the hash of the seal before it; '': it is the first
  hash text not null,
  sealed_at timestamptz not null default now(),
  primary key (workspace_id, position)
);
create unique index record_seals_record on record_seals (workspace_id, kind, record_id);
call tenant_table('record_seals');
revoke update, delete on record_seals from linepace_tenant;
revoke update on record_seals from linepace_system;
