-- The twin of a workspace, in which its test keys act: a workspace of its own, so that row-level security separates the two.
alter table workspaces add column live_workspace_id text references workspaces (id) on delete cascade;
-- old processes: set no `live_workspace_id`
create unique index workspaces_live on workspaces (live_workspace_id) where live_workspace_id is not null;

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

-- What the lines of a twin have sent.
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
  perform set_config('app.workspace_id', workspace_id, true);
  return (select c.ahead_ms from test_clocks c where c.workspace_id = enter_workspace.workspace_id);
end $$;

-- Lines of a twin never have a real carrier, and no other line has the carrier for tests.
create function check_line_mode() returns trigger language plpgsql as $$
begin
  if new.carrier <> 'none' and (new.carrier = 'test')
    <> exists (select from workspaces w where w.id = new.workspace_id and w.live_workspace_id is not null) then
    raise exception 'the carrier % is not for this workspace', new.carrier using errcode = 'check_violation';
  end if;
  return new;
end $$;
-- old processes: know no line of a twin, and no carrier `test`
create trigger line_mode before insert or update of carrier, workspace_id on lines
  for each row execute function check_line_mode();

alter table fallback_configs drop constraint fallback_configs_provider_check;
-- old processes: the new constraint allows what the old one did
alter table fallback_configs
  add constraint fallback_configs_provider_check check (provider in ('twilio', 'simulated', 'test'));
