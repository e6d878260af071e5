-- The conversation of a workspace with one address, and the contact's line.
create table conversations (
  workspace_id text not null,
  address text not null,
  line_id object_id,
  last_outbound_at timestamptz,
  last_inbound_at timestamptz,
  tags text[] not null default '{}',
  -- Messages in a row that the contact has not answered, from any line.
  unanswered integer not null default 0,
  -- The team's state of a conversation. A snooze ends at its time: reads compare the time, and housekeeping stores the end soon after.
  status text not null default 'open', -- open, snoozed or closed
  snoozed_until timestamptz,
  assignee_id text,
  primary key (workspace_id, address)
) with (fillfactor = 70);
-- The inbox: conversations by their last activity. Conversations with only waiting messages have none.
create index conversations_activity on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where last_inbound_at is not null or last_outbound_at is not null;
-- Few conversations of many have tags.
create index conversations_tagged on conversations (workspace_id, address) include (tags) where tags <> '{}';
-- The open conversations of a team that closes most of them, by their last activity.
create index conversations_not_closed on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where status <> 'closed' and (last_inbound_at is not null or last_outbound_at is not null);
-- The closed conversations of a team that closes few of them.
create index conversations_closed on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where status = 'closed';
create index conversations_snoozed on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where status = 'snoozed';
create index conversations_snooze_ends on conversations (snoozed_until) where status = 'snoozed';
-- What is assigned to one member, by its last activity.
create index conversations_assigned on conversations (workspace_id, assignee_id, greatest(last_inbound_at, last_outbound_at), address)
  where assignee_id is not null;
-- Conversations with tags, by their last activity.
create index conversations_tags on conversations (workspace_id, greatest(last_inbound_at, last_outbound_at), address)
  where tags <> '{}';
-- The contacts of a line, by their last activity.
create index conversations_line on conversations (workspace_id, line_id, greatest(last_inbound_at, last_outbound_at), address)
  where line_id is not null;
call tenant_table('conversations');

-- The addresses with which a line has exchanged a message: a message to any other address starts a new conversation.
create table line_contacts (
  workspace_id text not null,
  line_id object_id not null,
  address text not null,
  since timestamptz not null,
  -- The UTC day on which the line opened the conversation, until the contact answers; null: it did not, or they have.
  opened_on date,
  primary key (workspace_id, line_id, address)
);
call tenant_table('line_contacts');

-- Until when a user has read the conversation with an address.
create table conversation_reads (
  workspace_id text not null references workspaces (id) on delete cascade,
  address text not null,
  user_id text not null,
  read_at timestamptz not null,
  primary key (workspace_id, address, user_id)
);
call tenant_table('conversation_reads');

-- Notes of members about a contact. They are never sent.
create table conversation_notes (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  address text not null,
  author_type text not null,
  author_id text,
  author_name text,
  text text not null,
  mentions text[] not null default '{}', -- ids of users
  created_at timestamptz not null,
  primary key (workspace_id, id)
);
create index conversation_notes_address on conversation_notes (workspace_id, address, id);
call tenant_table('conversation_notes');

-- Named views of the inbox. They contain nothing about contacts except search terms.
create table saved_filters (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  user_id text, -- whose it is; null: shared
  name text not null,
  view text not null,
  search text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('saved_filters');

-- Texts that a team writes often, as templates. They contain nothing about contacts.
create table snippets (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  text text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('snippets');

-- The copilot's knowledge and whether it is on; off for a workspace without a row.
create table knowledge_bases (
  workspace_id text primary key references workspaces (id) on delete cascade,
  mode text not null check (mode in ('off', 'copilot')),
  instructions text not null,
  documents jsonb not null, -- [{title, text}]
  debounce_seconds integer not null check (debounce_seconds between 0 and 600),
  updated_at timestamptz not null default now()
);
call tenant_table('knowledge_bases');

-- A draft of the copilot answers one reply. `waiting`: for the contact to stop writing, and for the model; `failed`: the model
-- gave none. The other statuses are those of the API. The first action that takes it out of `drafted` wins.
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
  message_id object_id, -- the text that was sent instead
  resolved_by_user_id text,
  resolved_at timestamptz,
  model text,
  prompt_tokens integer,
  completion_tokens integer,
  error text,
  created_at timestamptz not null default now(),
  -- Who decided about a draft, in the form that its workflow shows to operators: `user …`, `key …` or `operator …`.
  resolved_by text,
  -- Drafts that a person or a program wrote have separate ids in `reply_id`, because there may be several for one reply, or no reply
  -- to answer.
  source text not null default 'copilot' check (source in ('copilot', 'dashboard', 'api')),
  answered_reply_id object_id, -- for a written draft: the reply it answers; null: none
  lead_id object_id, -- of a written draft
  primary key (workspace_id, reply_id)
);
create unique index ai_drafts_open on ai_drafts (workspace_id, address) where status in ('waiting', 'drafted');
create index ai_drafts_newest on ai_drafts (workspace_id, status, reply_id) where draft is not null;
create index ai_drafts_message on ai_drafts (workspace_id, message_id) where message_id is not null;
call tenant_table('ai_drafts');
