-- Agencies ---------------------------------------------------------------------------------------

-- Where a line has been: what a carrier reports of a message that left before a move belongs to the workspace
-- that sent it.
create table line_moves (
  line_id object_id not null,
  id object_id not null,
  from_workspace_id text not null references workspaces (id) on delete cascade,
  to_workspace_id text not null references workspaces (id) on delete cascade,
  moved_at timestamptz not null default now(),
  primary key (line_id, id)
);
call system_table('line_moves');

-- As `idempotency_keys`, for requests made with an agency's credential. Answers carry new keys and secrets, so
-- they are sealed.
create table agency_idempotency_keys (
  agency_id text not null references agencies (id) on delete cascade,
  route text not null,
  key text not null,
  request_hash text not null,
  status integer,
  response_sealed text,
  created_at timestamptz not null default now(),
  primary key (agency_id, route, key)
);
create index agency_idempotency_keys_age on agency_idempotency_keys (created_at);
call system_table('agency_idempotency_keys');

-- Team and mail ----------------------------------------------------------------------------------

-- Only what differs from the defaults (domain/email-preferences.ts).
create table email_preferences (
  workspace_id text primary key references workspaces (id) on delete cascade,
  preferences jsonb not null default '{}',
  updated_at timestamptz not null default now()
);
call tenant_table('email_preferences');

create table invitations (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  email text not null,
  role text not null check (role in ('org:admin', 'org:member')),
  token_hash text not null unique,
  invited_by_user_id text,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create unique index invitations_open on invitations (workspace_id, email) where accepted_at is null;
call tenant_table('invitations');

-- The product's own emails, written in the transaction that gives the reason for them. `data_sealed` is what the
-- template is filled with: it holds links that act for whoever has them.
create table mails (
  workspace_id text not null references workspaces (id) on delete cascade,
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
  primary key (workspace_id, id)
);
create index mails_due on mails (workspace_id, next_attempt_at) where status = 'pending';
create unique index mails_dedupe on mails (workspace_id, dedupe_key) where dedupe_key is not null;
create index mails_age on mails (created_at);
call tenant_table('mails');

-- Analytics --------------------------------------------------------------------------------------

create index messages_created on messages (workspace_id, created_at);
create index messages_sent on messages (workspace_id, sent_at) where sent_at is not null;
