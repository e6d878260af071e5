-- When an operator suspended the workspace: it sends nothing and refuses changes, and its messages keep their places.
alter table workspaces add column suspended_at timestamptz;

-- old processes: they clear their caches more often.
create trigger standing_changed after update of suspended_at, billing_mode on workspaces
  for each statement execute function notify_credentials();

-- Paused with all others. Those that somebody had paused before stay paused when all are resumed.
alter table lines add column paused_with_all boolean not null default false;
