-- Carriers repeat their callbacks: an event seen before changes nothing. An event that arrives before the response to the send it is
-- about is kept in `waiting` until that send is settled.
create table carrier_events (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  event_id text not null,
  carrier_message_id text,
  waiting jsonb,
  received_at timestamptz not null default now(),
  received_on date not null default (now() at time zone 'UTC')::date,
  primary key (workspace_id, line_id, event_id, received_on)
) partition by range (received_on);
create index carrier_events_waiting on carrier_events (workspace_id, line_id, carrier_message_id) where waiting is not null;
call tenant_table('carrier_events');
call daily_table('carrier_events');

-- An event is stored once, whatever its day, although a unique index covers only one partition. Of two simultaneous events, the second
-- waits for the first and then finds it. Events that a line brings from another workspace are older, and nobody repeats them
-- while it moves: their rows, possibly thousands, take no locks.
create function carrier_event_once() returns trigger language plpgsql
  set plan_cache_mode = 'force_generic_plan' as $$ -- planning for all partitions takes longer than looking into them
begin
  if new.received_at = now() then
    perform pg_advisory_xact_lock(hashtextextended(new.line_id || ' ' || new.event_id, 1));
  end if;
  if exists (select from carrier_events where workspace_id = new.workspace_id and line_id = new.line_id and event_id = new.event_id) then
    return null;
  end if;
  return new;
end $$;
create trigger carrier_event_once before insert on carrier_events for each row execute function carrier_event_once();

-- Messages of contacts. An automatic reply (out of office, bounce notice) is stored and flagged: it is
-- neither a reply nor a sign of life of the contact.
create table inbound_messages (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  line_id object_id not null,
  address text not null,
  carrier_message_id text not null,
  lead_id object_id,
  campaign_id object_id,
  original_message_id object_id, -- the outbound message it answers
  body text not null default '',
  auto_reply boolean not null default false,
  keyword text check (keyword in ('stop', 'start')),
  received_at timestamptz not null, -- when it was written, according to the carrier
  announced_at timestamptz, -- when its event was put into the outbox; one with files waits for the first of them
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
create unique index inbound_messages_carrier on inbound_messages (workspace_id, line_id, carrier_message_id);
create index inbound_messages_address on inbound_messages (workspace_id, address, received_at, id);
create index inbound_messages_newest on inbound_messages (workspace_id, received_at, id) where not auto_reply;
create index inbound_messages_lead on inbound_messages (workspace_id, lead_id, received_at) where lead_id is not null;
create index inbound_messages_unannounced on inbound_messages (workspace_id, id) where announced_at is null and not auto_reply;
-- Like messages_counted.
create index inbound_messages_counted on inbound_messages (workspace_id, received_at)
  include (address, auto_reply, line_id, campaign_id);
-- The newest replies of a line.
create index inbound_messages_line on inbound_messages (workspace_id, line_id, received_at, id) where not auto_reply;
call tenant_table('inbound_messages');

-- Inbound messages that could not be parsed and were skipped: which and why, never their content.
create table unreadable_inbound (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  reference text not null, -- its id at the carrier: the UID of an email in its mailbox
  reason text not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, line_id, reference)
);
create index unreadable_inbound_age on unreadable_inbound (created_at);
call tenant_table('unreadable_inbound');

-- Calls that carriers reported.
create table calls (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  line_id object_id not null,
  carrier_call_id text not null,
  from_number text not null,
  to_number text not null,
  surface text not null,
  status text not null check (status in ('requested', 'ringing', 'answered', 'billed', 'failed')),
  requested_at timestamptz not null,
  answered_at timestamptz,
  ended_at timestamptz,
  duration_sec double precision,
  billed_sec double precision,
  billed_cents double precision,
  hangup_cause text,
  primary key (workspace_id, id),
  unique (workspace_id, line_id, carrier_call_id)
);
create index calls_to on calls (workspace_id, to_number, requested_at desc, id desc);
create index calls_from on calls (workspace_id, from_number, requested_at desc, id desc);
call tenant_table('calls');

-- Files in our own storage, below `<workspace>/<id>`. One that came with a reply waits for its bytes to be fetched.
create table attachments (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  content_type text,
  size bigint,
  status text not null check (status in ('waiting', 'stored', 'failed')),
  inbound_message_id object_id,
  told_at timestamptz, -- when the carrier reported it; with `position`, the order of a reply's files, however they arrive
  position integer not null default 0,
  source_url text,
  tries smallint not null default 0,
  try_at timestamptz,
  created_at timestamptz not null default now(),
  -- The recording of a call.
  call_id object_id,
  -- The audio file of a voice note; the note is `failed` if the file cannot be read.
  voice_note_of object_id,
  -- Uploads expire with their links; `kept_until` is when to check whether anything still needs them. Files that contacts
  -- sent, and recordings, are kept with their conversations and calls.
  kept_until timestamptz,
  -- Why fetching a file failed permanently.
  failure text,
  primary key (workspace_id, id),
  foreign key (workspace_id, inbound_message_id) references inbound_messages (workspace_id, id) on delete cascade,
  foreign key (workspace_id, call_id) references calls (workspace_id, id) on delete cascade
);
create index attachments_inbound on attachments (workspace_id, inbound_message_id) where inbound_message_id is not null;
create index attachments_waiting on attachments (workspace_id, try_at) where status = 'waiting';
create unique index attachments_call on attachments (workspace_id, call_id) where call_id is not null;
create unique index attachments_voice_note on attachments (workspace_id, voice_note_of) where voice_note_of is not null;
create index attachments_kept_until on attachments (kept_until) where kept_until is not null;
call tenant_table('attachments');

-- The storage usage of each workspace: in total, and since the beginning of the day (UTC). Counted by triggers, so that it is
-- correct whatever stores or deletes; the row is also the lock under which the quota is enforced.
create table storage_usage (
  workspace_id text primary key references workspaces (id) on delete cascade,
  bytes bigint not null default 0,
  day date not null,
  day_bytes bigint not null default 0
) with (fillfactor = 50);
call tenant_table('storage_usage');
revoke insert, update, delete on storage_usage from linepace_tenant, linepace_system;
-- Rows that are deleted along with others are deleted by the owner, who passes no policy of a tenant.
grant select, insert, update on storage_usage to linepace_definer;
create policy definer on storage_usage to linepace_definer using (true) with check (true);

create function count_stored(workspace text, added bigint) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  -- With its workspace goes what it has stored: there is no row to count in.
  if added = 0 or not exists (select from workspaces w where w.id = workspace) then return; end if;
  insert into storage_usage as u (workspace_id, bytes, day, day_bytes)
  values (workspace, added, (now() at time zone 'UTC')::date, greatest(added, 0))
  on conflict (workspace_id) do update set
    bytes = u.bytes + excluded.bytes,
    day = excluded.day,
    day_bytes = excluded.day_bytes + case when u.day = excluded.day then u.day_bytes else 0 end;
end $$;
call definer_function('count_stored', caller => null);

create function count_attachment() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform count_stored(coalesce(new.workspace_id, old.workspace_id),
    case when new.status = 'stored' then coalesce(new.size, 0) else 0 end
      - case when old.status = 'stored' then coalesce(old.size, 0) else 0 end);
  return null;
end $$;
create trigger count_attachment after insert or delete or update of status, size on attachments
  for each row execute function count_attachment();
call definer_function('count_attachment', caller => null);

create function count_import() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform count_stored(coalesce(new.workspace_id, old.workspace_id),
    coalesce(new.stored_bytes, 0) - coalesce(old.stored_bytes, 0));
  return null;
end $$;
create trigger count_import after insert or delete or update of stored_bytes on lead_imports
  for each row execute function count_import();
call definer_function('count_import', caller => null);
