-- Calls as carriers tell of them, and the voice notes that audio files are made into.

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

-- The recording of a call.
alter table attachments add column call_id object_id;
alter table attachments add foreign key (workspace_id, call_id) references calls (workspace_id, id) on delete cascade;
create unique index attachments_call on attachments (workspace_id, call_id) where call_id is not null;

-- The audio file that a voice note was made of; the note is `failed` when the file cannot be read.
alter table attachments add column voice_note_of object_id;
create unique index attachments_voice_note on attachments (workspace_id, voice_note_of) where voice_note_of is not null;
