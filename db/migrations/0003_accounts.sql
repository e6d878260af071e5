create table users (
  id text primary key,
  email text not null,
  name text not null default '',
  created_at timestamptz not null default now()
);
create unique index users_email on users (lower(email));
call system_table('users');
grant select on users to linepace_definer;

create table agencies (
  id text primary key,
  name text not null,
  billing_mode text not null default 'card' check (billing_mode in ('card', 'invoice')),
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  payment_customer_id text -- at the payment provider; card numbers never come here
);
call system_table('agencies');
grant select on agencies to linepace_definer;

-- Co-admins are invited, and are members once they have accepted.
create table agency_members (
  agency_id text not null references agencies (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'co_admin')),
  joined_at timestamptz not null default now(),
  primary key (agency_id, user_id)
);
create unique index agency_members_owner on agency_members (agency_id) where role = 'owner';
call system_table('agency_members');

create table agency_invitations (
  agency_id text not null references agencies (id) on delete cascade,
  id object_id not null,
  email text not null,
  token_hash text not null unique,
  invited_by_user_id text,
  expires_at timestamptz not null,
  mailed_at timestamptz not null, -- when the link was last sent: once an hour at most
  accepted_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (agency_id, id)
);
create unique index agency_invitations_open on agency_invitations (agency_id, email) where accepted_at is null;
call system_table('agency_invitations');

create table workspaces (
  id text primary key,
  agency_id text references agencies (id),
  name text not null,
  legal_name text not null default '',
  timezone text not null default 'UTC',
  country text not null default 'US',
  plan text check (plan in ('mini', 'starter', 'growth')),
  subscription_status text not null default 'none' check (subscription_status in ('none', 'active', 'past_due', 'canceled')),
  created_by_user_id text references users (id),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  payment_customer_id text, -- only for a workspace without an agency; an agency pays for its workspaces
  payment_subscription_id text,
  -- When the read of the subscription began that returned its status: events arrive in any order, and an older
  -- read must not win over a newer one.
  subscription_read_at timestamptz not null default '-infinity',
  -- Part of the idempotency key of a change: a declined card is charged anew, but a lost response is not charged twice.
  subscription_attempt integer not null default 0,
  -- One change of plan at a time; after a crash, the lock expires at this time.
  subscription_busy_until timestamptz not null default '-infinity',
  line_overrides jsonb not null default '{}',
  reputation_policy text not null default 'protect',
  quiet_hours jsonb, -- null: it has none
  -- For a twin: the live workspace whose test keys act in it. The twin is a separate workspace, so row-level security separates the two.
  live_workspace_id text references workspaces (id) on delete cascade,
  setup_dismissed_at timestamptz -- when somebody hid the first steps of the workspace; null: they are shown
);
create index workspaces_agency on workspaces (agency_id);
create unique index workspaces_payment_subscription on workspaces (payment_subscription_id) where payment_subscription_id is not null;
create unique index workspaces_live on workspaces (live_workspace_id) where live_workspace_id is not null;
call tenant_table('workspaces', 'id');
-- The system creates and removes workspaces; a tenant changes its settings.
revoke insert, delete on workspaces from linepace_tenant;
grant select on workspaces to linepace_definer;
create policy definer on workspaces for select to linepace_definer using (true);

create table workspace_members (
  workspace_id text not null references workspaces (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('org:admin', 'org:member')),
  is_owner boolean not null default false,
  joined_at timestamptz not null default now(),
  -- What arrived before is not unread.
  inbox_since timestamptz not null default now(),
  primary key (workspace_id, user_id)
);
create index workspace_members_user on workspace_members (user_id);
call tenant_table('workspace_members');
grant select on workspace_members to linepace_definer;
create policy definer on workspace_members for select to linepace_definer using (true);

-- Users who were removed from a workspace. The identity provider may still name them an admin of its organization, but they do
-- not become members again by signing in.
create table former_members (
  workspace_id text not null references workspaces (id) on delete cascade,
  user_id text not null,
  removed_at timestamptz not null default now(),
  primary key (workspace_id, user_id)
);
call tenant_table('former_members');

create table invitations (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  email text not null,
  role text not null check (role in ('org:admin', 'org:member')),
  token_hash text not null,
  invited_by_user_id text,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  created_at timestamptz not null default now(),
  mailed_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create unique index invitations_open on invitations (workspace_id, email) where accepted_at is null;
call tenant_table('invitations');

-- The workspaces of objects that callers name without one: lines by id, API keys and invitations by the hash of their secret. So the
-- keys of all other tables begin with the workspace. A row is written in the transaction that adds, moves or removes its
-- about.
create table lookups (
  kind text not null check (kind in ('line', 'key', 'invitation')),
  key text not null,
  workspace_id text not null references workspaces (id) on delete cascade,
  primary key (kind, key)
);
call tenant_table('lookups');

-- The users of this transaction's workspace. A tenant cannot read `users`, because users may belong to many workspaces.
create function current_team() returns table (user_id text, email text, name text, role text, is_owner boolean, joined_at timestamptz)
  language sql stable security definer set search_path = public, pg_temp
  begin atomic
  select m.user_id, u.email, u.name, m.role, m.is_owner, m.joined_at
  from workspace_members m join users u on u.id = m.user_id
  where m.workspace_id = current_workspace();
end;
call definer_function('current_team');

-- The members who answer: those of the workspace, and in test mode those of the workspace whose twin it is.
create function inbox_members() returns table (user_id text, email text, name text, inbox_since timestamptz)
  language sql stable security definer set search_path = public, pg_temp
  begin atomic
  select m.user_id, u.email, u.name, m.inbox_since
  from workspaces w
  join workspace_members m on m.workspace_id = coalesce(w.live_workspace_id, w.id)
  join users u on u.id = m.user_id
  where w.id = current_workspace();
end;
call definer_function('inbox_members');

-- Notifies the API processes that their cached keys, workspaces and lines may have changed. A statement notifies
-- once, without a payload: such changes are rare. A process then clears its caches, and ends the open event streams of
-- users who were removed or whose role was lowered.
create function notify_credentials() returns trigger language plpgsql as $$
begin
  notify credentials;
  return null;
end $$;
create trigger credentials_changed
  after delete on agency_members
  for each statement execute function notify_credentials();
create trigger credentials_changed
  after delete or update of agency_id, timezone, country, subscription_status on workspaces
  for each statement execute function notify_credentials();
create trigger credentials_changed
  after delete or update of role on workspace_members
  for each statement execute function notify_credentials();
