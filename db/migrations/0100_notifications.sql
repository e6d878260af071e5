-- What is to be told by email, once it is due: one row for each thing, however often it happens until then. A row is
-- deleted with the writing of its emails, which are in `mails`.
create table notifications (
  workspace_id text not null references workspaces (id) on delete cascade,
  kind text not null check (kind in ('reply', 'campaign', 'billing', 'system_error')),
  subject text not null, -- what it is about: of a reply the contact's address
  data jsonb not null default '{}',
  since timestamptz not null, -- when it happened first
  due_at timestamptz not null,
  primary key (workspace_id, kind, subject)
);
create index notifications_due on notifications (workspace_id, due_at);
call tenant_table('notifications');

-- Who followed the link that turns a kind of email off, for themselves only: the workspace's own preferences stay.
create table notification_mutes (
  workspace_id text not null references workspaces (id) on delete cascade,
  user_id text not null,
  kind text not null check (kind in ('reply', 'campaign', 'billing', 'system_error')),
  created_at timestamptz not null default now(),
  primary key (workspace_id, user_id, kind)
);
call tenant_table('notification_mutes');
