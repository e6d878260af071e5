-- Group conversations of lines. Their messages have the address `group:<id>`, which is nobody's.
create table group_chats (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  line_id object_id not null,
  carrier_group_id text, -- null: it has not been created at the carrier
  name text, -- null: it has none
  participants text[] not null, -- the addresses of the contacts, as far as they are known
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create unique index group_chats_carrier on group_chats (workspace_id, line_id, carrier_group_id);
create index group_chats_participants on group_chats using gin (participants);
call tenant_table('group_chats');

-- Who wrote a message to a group; null: nobody that can be written to, or it is of no group.
alter table inbound_messages add column participant text;
