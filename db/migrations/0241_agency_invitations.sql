-- Co-admins are invited, and are members of an agency once they have accepted.

alter table agency_members add column joined_at timestamptz not null default now();

create table agency_invitations (
  agency_id text not null references agencies (id) on delete cascade,
  id object_id not null,
  email text not null,
  token_hash text not null unique,
  invited_by_user_id text,
  expires_at timestamptz not null,
  mailed_at timestamptz not null, -- when the link was last sent: once an hour at most
  accepted_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (agency_id, id)
);
create unique index agency_invitations_open on agency_invitations (agency_id, email) where accepted_at is null;
call system_table('agency_invitations');

-- As `mails`, for the emails of an agency.
create table agency_mails (
  agency_id text not null references agencies (id) on delete cascade,
  id object_id not null,
  recipient text not null,
  template text not null,
  data_sealed text not null,
  dedupe_key text,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  error text,
  sent_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (agency_id, id)
);
create index agency_mails_due on agency_mails (agency_id, next_attempt_at) where status = 'pending';
create index agency_mails_age on agency_mails (created_at);
call system_table('agency_mails');

alter table invitations add column mailed_at timestamptz not null default now();
create index mails_recipient on mails (workspace_id, recipient, created_at);
create index agency_mails_recipient on agency_mails (agency_id, recipient, created_at);
create unique index agency_mails_dedupe on agency_mails (agency_id, dedupe_key) where dedupe_key is not null;
