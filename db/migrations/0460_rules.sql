-- What a workspace does by itself when something happens with a contact.
create table rules (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  trigger text not null check (trigger in ('reply', 'missed_call', 'conversation_opened', 'tag_added', 'no_answer_for', 'draft')),
  after_ms bigint, -- of no_answer_for: how long nobody has answered
  tags text[] not null default '{}', -- of tag_added: one of these, in lower case; empty: any
  conditions jsonb not null,
  actions jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('rules');

-- One rule about one happening: written in the transaction in which it happened, done once in a later one, and kept as the record of what was
-- done. Those whose conditions did not hold are deleted.
create table rule_runs (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  rule_id object_id not null, -- may have been deleted
  rule_name text not null, -- as it was then
  trigger text not null,
  address text not null,
  line_id object_id, -- through which the contact wrote or called
  reply_id object_id, -- the contact's message that it is about
  call_id object_id,
  happened_at timestamptz not null,
  due_at timestamptz, -- null: done
  ran_at timestamptz,
  did text[] not null default '{}',
  withheld text, -- why the text was not sent
  why text, -- what was judged
  message_id object_id, -- the text that was sent
  primary key (workspace_id, id)
);
call tenant_table('rule_runs');
create index rule_runs_due on rule_runs (workspace_id, due_at, id) where due_at is not null;
-- What was done about a contact, and when they got the last text.
create index rule_runs_contact on rule_runs (workspace_id, address, ran_at) where ran_at is not null;
create index rule_runs_age on rule_runs (ran_at) where ran_at is not null;
-- A contact has waited for an answer once at a time.
create unique index rule_runs_waiting on rule_runs (workspace_id, rule_id, address) where trigger = 'no_answer_for' and due_at is not null;
