-- Sessions of people who signed in to the console at the identity provider. The browser holds a token in a cookie, of which
-- only the hash is stored.
create table user_sessions (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  hash text not null unique,
  user_id text not null references users (id) on delete cascade,
  -- The role that the provider names for its organization. null: it names none, and the membership alone counts.
  role text,
  user_agent text not null,
  started_at timestamptz not null default now(),
  -- The last request that a person caused, to the minute.
  seen_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  -- When the provider is asked next whether it still knows the user. null: it issued no refresh token.
  renew_at timestamptz,
  -- What signing out and renewing need, as JSON.
  tokens_sealed text not null,
  primary key (workspace_id, id)
);
create index user_sessions_user on user_sessions (user_id, started_at);
call tenant_table('user_sessions');

-- Ends the open event streams of the session, in all processes.
create trigger credentials_changed
  after update of ended_at on user_sessions
  for each statement execute function notify_credentials();
