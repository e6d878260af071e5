-- Inbound messages that could not be read and were passed over: which and why, never what they said.
create table unreadable_inbound (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  reference text not null, -- the name it has at its carrier: the UID of an email in its mailbox
  reason text not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, line_id, reference)
);
call tenant_table('unreadable_inbound');
create index unreadable_inbound_age on unreadable_inbound (created_at);
