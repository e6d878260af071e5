-- What contacts write to us. An automatic answer (out of office, bounce notice) is kept and flagged: it is
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
  received_at timestamptz not null, -- when it was written, as the carrier tells
  announced_at timestamptz, -- when its event was put into the outbox; one with files waits for the first of them
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create unique index inbound_messages_carrier on inbound_messages (workspace_id, line_id, carrier_message_id);
create index inbound_messages_address on inbound_messages (workspace_id, address, received_at, id);
create index inbound_messages_newest on inbound_messages (workspace_id, received_at, id) where not auto_reply;
create index inbound_messages_lead on inbound_messages (workspace_id, lead_id, received_at) where lead_id is not null;
create index inbound_messages_unannounced on inbound_messages (workspace_id, id) where announced_at is null and not auto_reply;
call tenant_table('inbound_messages');

-- Files in our own storage, below `<workspace>/<id>`. One that came with a reply waits for its bytes to be fetched.
create table attachments (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  content_type text,
  size bigint,
  status text not null check (status in ('waiting', 'stored', 'failed')),
  inbound_message_id object_id,
  told_at timestamptz, -- when the carrier told of it: with `position` the order of a reply's files, however they arrive
  position integer not null default 0,
  source_url text,
  tries smallint not null default 0,
  try_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id),
  foreign key (workspace_id, inbound_message_id) references inbound_messages (workspace_id, id) on delete cascade
);
create index attachments_inbound on attachments (workspace_id, inbound_message_id) where inbound_message_id is not null;
create index attachments_waiting on attachments (workspace_id, try_at) where status = 'waiting';
call tenant_table('attachments');

alter table conversations add column tags text[] not null default '{}';
-- The inbox: conversations by their last activity. Those that only have messages waiting have none.
create index conversations_activity on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where last_inbound_at is not null or last_outbound_at is not null;

create index opt_outs_newest on opt_outs (workspace_id, created_at, address);

-- What contacts made of a message: `[{reaction, from, at, removed}]`, the last word per contact and reaction.
alter table messages add column reactions jsonb not null default '[]';
