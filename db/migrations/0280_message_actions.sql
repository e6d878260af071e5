-- What we do to messages that were exchanged: edits and unsendings of ours, and reactions. The pacer of the line carries them out.
create table message_actions (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  line_id object_id not null,
  message_id object_id not null, -- of ours or of a contact
  kind text not null check (kind in ('reaction', 'edit', 'unsend')),
  content jsonb not null, -- the reaction, or the new text
  actor_name text, -- who asked for it
  status text not null default 'pending' check (status in ('pending', 'calling', 'done', 'failed')),
  reason text, -- of a failure
  failures smallint not null default 0, -- calls that certainly had no effect
  due_at timestamptz not null,
  expires_at timestamptz not null, -- it is given up then
  started_at timestamptz, -- of the last call
  answer_by timestamptz,
  finished_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create index message_actions_open on message_actions (workspace_id, line_id, id) where status in ('pending', 'calling');
create index message_actions_started on message_actions (workspace_id, line_id, started_at) where started_at is not null;
create index message_actions_message on message_actions (workspace_id, message_id);
create index message_actions_age on message_actions (created_at);
call tenant_table('message_actions');

alter table messages add column edited_at timestamptz, add column unsent_at timestamptz;
-- Like those of messages.
alter table inbound_messages add column reactions jsonb not null default '[]';
-- old processes: they neither read nor write these columns, whose defaults mean that nothing has happened.
