-- What the copilot knows and whether it drafts at all; a workspace without a row has it off.
create table knowledge_bases (
  workspace_id text primary key references workspaces (id) on delete cascade,
  mode text not null check (mode in ('off', 'copilot')),
  instructions text not null,
  documents jsonb not null, -- [{title, text}]
  debounce_seconds integer not null check (debounce_seconds between 0 and 600),
  updated_at timestamptz not null default now()
);
call tenant_table('knowledge_bases');

-- A draft answers one reply. `waiting`: for the contact to stop writing, and for the model; `failed`: the model gave none.
-- The other statuses are those of the API. The first action that takes it out of `drafted` wins.
create table ai_drafts (
  workspace_id text not null references workspaces (id) on delete cascade,
  reply_id object_id not null,
  address text not null,
  status text not null default 'waiting'
    check (status in ('waiting', 'failed', 'drafted', 'approved', 'rejected', 'claimed', 'superseded')),
  due_at timestamptz not null,
  draft text,
  confidence double precision,
  tags text[] not null default '{}',
  sentiment text check (sentiment in ('positive', 'neutral', 'negative')),
  approval_channel text,
  message_id object_id, -- what was sent in its place
  resolved_by_user_id text,
  resolved_at timestamptz,
  model text,
  prompt_tokens integer,
  completion_tokens integer,
  error text,
  created_at timestamptz not null default now(),
  primary key (workspace_id, reply_id),
  foreign key (workspace_id, reply_id) references inbound_messages (workspace_id, id) on delete cascade
);
create unique index ai_drafts_open on ai_drafts (workspace_id, address) where status in ('waiting', 'drafted');
create index ai_drafts_newest on ai_drafts (workspace_id, status, reply_id) where draft is not null;
create index ai_drafts_message on ai_drafts (workspace_id, message_id) where message_id is not null;
call tenant_table('ai_drafts');
