-- Test keys act in the twin of their workspace: a separate workspace (`live_workspace_id`), so that row-level security
-- separates the two. It has a clock that can be moved, and lines that send to nobody.

-- How far the clock of a twin is ahead, and where it is moving to.
create table test_clocks (
  workspace_id text primary key references workspaces (id) on delete cascade,
  ahead_ms bigint not null default 0 check (ahead_ms >= 0),
  -- In the time of the twin; null: it does not move.
  target_at timestamptz,
  -- In real time.
  moved_at timestamptz not null default now(),
  -- Why it stopped before its target.
  problem text
);
call tenant_table('test_clocks');

-- Immutable, because milliseconds depend on no time zone: nothing else may change a row of a distributed table.
create function earlier(at timestamptz, ms bigint) returns timestamptz language sql immutable parallel safe
  return at - ms * interval '1 millisecond';

-- The messages that the lines of a twin have sent.
create table test_sends (
  workspace_id text not null references workspaces (id) on delete cascade,
  -- Of the attempt.
  id object_id not null,
  line_id object_id not null,
  message_id object_id not null,
  channel text not null,
  sender text not null,
  recipient text not null,
  subject text,
  body text not null,
  attachment_urls text[] not null,
  sent_at timestamptz not null,
  primary key (workspace_id, id)
);
create index test_sends_recipient on test_sends (workspace_id, recipient, id);
call tenant_table('test_sends');

-- Limits the transaction to a workspace. Returns how far its clock is ahead, in milliseconds; null: it is not a twin.
create function enter_workspace(workspace_id text) returns bigint language plpgsql as $$
begin
  perform set_local('app.workspace_id', workspace_id);
  return (select c.ahead_ms from test_clocks c where c.workspace_id = enter_workspace.workspace_id);
end $$;
