-- The outbox: written in the transaction that changed the status. `body` is the exact text that is signed and sent.
create table events (
  workspace_id text not null,
  id object_id not null,
  event text not null,
  message_id object_id,
  body text not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
) partition by range (id);
call tenant_table('events');
call daily_table('events');

create table webhooks (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  url text not null,
  events text[] not null,
  is_active boolean not null default true,
  secret_sealed text not null,
  previous_secret_sealed text,
  previous_secret_until timestamptz,
  failure_count integer not null default 0,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- When the workspace was last notified that a webhook fails: once, until a delivery succeeds again.
  told_failing_at timestamptz,
  primary key (workspace_id, id)
);
call tenant_table('webhooks');

-- A webhook is deleted at once, however many deliveries it has: these are no longer visible, and expire with age.
create table webhook_deliveries (
  workspace_id text not null,
  id object_id not null,
  webhook_id object_id not null,
  event_id object_id not null,
  event text not null,
  status text not null default 'pending' check (status in ('pending', 'sending', 'done')),
  is_replay_of object_id,
  success boolean,
  response_status integer,
  error text,
  latency_ms integer,
  attempt_count smallint not null default 0,
  claimed_at timestamptz,
  created_at timestamptz not null default now(),
  -- The beginning of the endpoint's response to a failed delivery, for debugging.
  response_body text,
  primary key (workspace_id, id)
) partition by range (id);
create index webhook_deliveries_open on webhook_deliveries (workspace_id, webhook_id, id) where status <> 'done';
create index webhook_deliveries_log on webhook_deliveries (workspace_id, webhook_id, id desc);
call tenant_table('webhook_deliveries');
call daily_table('webhook_deliveries');

-- Events in one order, in which a stream can be resumed. Ids do not provide it: they are created before the commit, by many
-- processes. A transaction that emits an event records it here, and one process at a time publishes what was committed since the last batch
-- (db/commands/outbox/publish-events.ts).
create sequence emission_number;
grant usage on sequence emission_number to linepace_tenant, linepace_system;

-- Emitted events, by transaction. Without a foreign key, because the event in the same transaction has one. Dropped after days.
create table emitted_events (
  transaction_id xid8 not null default pg_current_xact_id(),
  id object_id not null,
  workspace_id text not null,
  number bigint not null default nextval('emission_number'), -- if one transaction waited for another, its number is higher
  primary key (transaction_id, id)
) partition by range (id);
call tenant_table('emitted_events');
call daily_table('emitted_events');

-- Published events. Positions become visible in their order. Without a foreign key, so that a lock on a workspace delays no others.
create table published_events (
  workspace_id text not null,
  id object_id not null,
  position bigint not null,
  primary key (workspace_id, id)
) partition by range (id);
create index published_events_position on published_events (workspace_id, position);
call tenant_table('published_events');
call daily_table('published_events');

-- Waits until every transaction that this one sees as committed is committed on all nodes. On a cluster, the coordinator commits before
-- the nodes do (db/distribute.ts); one server has nothing to wait for.
create function await_commits() returns void language plpgsql as $$ begin end $$;

-- The batches of the last minutes. The newest says what was published so far.
create table event_batches (
  position bigint primary key, -- of its last event
  snapshot pg_snapshot not null, -- all that was committed before it is published
  workspace_ids text[] not null, -- whose events it has
  published_at timestamptz not null default now()
);
call system_table('event_batches');
insert into event_batches (position, snapshot, workspace_ids) values (0, pg_current_snapshot(), '{}');

-- Open streams, each with its holder: a key or a user. Their number is limited per holder and per workspace.
create unlogged table event_streams (
  id object_id primary key,
  holder text not null,
  seen_at timestamptz not null default now(),
  workspace_id text not null
);
create index event_streams_holder on event_streams (holder);
create index event_streams_workspace on event_streams (workspace_id);
call system_table('event_streams');
call own_workspace_statistics('event_streams', 'workspace_id');
