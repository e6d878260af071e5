-- Chats at other providers, such as Telegram, in which members decide about drafts.
create table chat_connections (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  provider text not null check (provider in ('telegram', 'slack')),
  scope text not null check (scope in ('workspace', 'member')),
  user_id text not null, -- who linked it, and who acts with `external_user_id`
  status text not null default 'pending' check (status in ('pending', 'linked', 'broken', 'removed')),
  code_hash text, -- of the code that links it; null: it was used
  expires_at timestamptz, -- of the code
  chat_id text, -- the provider's
  external_user_id text, -- the provider's
  error text, -- why it is broken
  linked_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
-- The provider names a chat, or a code, without the workspace. One chat may belong to several.
create index chat_connections_chat on chat_connections (provider, chat_id) where status in ('linked', 'broken');
create index chat_connections_code on chat_connections (code_hash) where code_hash is not null;
create index chat_connections_expired on chat_connections (expires_at) where expires_at is not null;
call tenant_table('chat_connections');

-- The outbox: what a chat is told of a draft. Its text is made of the draft when it is sent.
create table chat_messages (
  workspace_id text not null,
  id object_id not null,
  connection_id object_id not null,
  reply_id object_id not null, -- the draft
  message_id text, -- the provider's; null: it is not sent yet
  erased boolean not null default false, -- the contact was erased, and the message is to be deleted
  due_at timestamptz, -- when it is to be sent, or brought up to date; null: it is up to date
  created_at timestamptz not null default now(),
  primary key (workspace_id, id),
  foreign key (workspace_id, connection_id) references chat_connections (workspace_id, id) on delete cascade
);
create unique index chat_messages_draft on chat_messages (workspace_id, reply_id, connection_id);
create index chat_messages_sent on chat_messages (workspace_id, connection_id, message_id) where message_id is not null;
create index chat_messages_due on chat_messages (workspace_id, due_at) where due_at is not null;
call tenant_table('chat_messages');
