-- The product's own emails, written in the transaction of their cause. `data_sealed` is the encrypted data of the
-- template: it contains links that work for anybody who has them.
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
create index mails_recipient on mails (workspace_id, recipient, created_at);
call tenant_table('mails');

-- Like `mails`, for the emails of an agency.
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
create index agency_mails_recipient on agency_mails (agency_id, recipient, created_at);
create unique index agency_mails_dedupe on agency_mails (agency_id, dedupe_key) where dedupe_key is not null;
call system_table('agency_mails');

-- Only what differs from the defaults (domain/email-preferences.ts).
create table email_preferences (
  workspace_id text primary key references workspaces (id) on delete cascade,
  preferences jsonb not null default '{}',
  updated_at timestamptz not null default now()
);
call tenant_table('email_preferences');

-- Notifications that become emails when they are due: one row per subject, however often it happens until then. A row is
-- deleted when its emails are written to `mails`.
create table notifications (
  workspace_id text not null references workspaces (id) on delete cascade,
  kind text not null check (kind in ('reply', 'campaign', 'billing', 'system_error')),
  subject text not null, -- the subject; for a reply, the contact's address
  data jsonb not null default '{}',
  since timestamptz not null, -- when it happened first
  due_at timestamptz not null,
  primary key (workspace_id, kind, subject)
);
create index notifications_due on notifications (workspace_id, due_at);
call tenant_table('notifications');

-- Users who turned off a kind of email through its link, only for themselves: the workspace's preferences do not change.
create table notification_mutes (
  workspace_id text not null references workspaces (id) on delete cascade,
  user_id text not null,
  kind text not null check (kind in ('reply', 'campaign', 'billing', 'system_error')),
  created_at timestamptz not null default now(),
  primary key (workspace_id, user_id, kind)
);
call tenant_table('notification_mutes');
