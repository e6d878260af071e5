-- Keys are stored as hashes.
create table workspace_keys (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  hash text not null,
  prefix text not null,
  last4 text not null,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  scopes text[] not null default '{read,send,draft,manage}',
  allowed_ips text[],
  mode text not null default 'live' check (mode in ('live', 'test')),
  primary key (workspace_id, id),
  unique (workspace_id, hash)
);
call tenant_table('workspace_keys');

create trigger credentials_changed
  after delete or update of hash, name, created_by_user_id, revoked_at, expires_at on workspace_keys
  for each statement execute function notify_credentials();

create table agency_keys (
  agency_id text not null references agencies (id) on delete cascade,
  id object_id not null,
  name text not null,
  hash text not null unique,
  prefix text not null,
  last4 text not null,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (agency_id, id)
);
call system_table('agency_keys');

-- Sessions of people who signed in to the console at the identity provider. The browser holds a token in a cookie, of which
-- only the hash is stored. They belong to a person, who may have sessions in several workspaces.
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
  -- When to ask the provider next whether it still knows the user. null: it issued no refresh token.
  renew_at timestamptz,
  -- The tokens for signing out and renewing, as JSON.
  tokens_sealed text not null,
  primary key (workspace_id, id)
);
create index user_sessions_user on user_sessions (user_id, started_at);
call system_table('user_sessions');
call own_workspace_statistics('user_sessions', 'workspace_id');

-- Ends the open event streams of the session, in all processes.
create trigger credentials_changed
  after update of ended_at on user_sessions
  for each statement execute function notify_credentials();

-- One-time codes that sign in to the console, as hashes. Only `npm start` creates them.
create table console_codes (
  hash text primary key,
  workspace_id text not null references workspaces (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  expires_at timestamptz not null
);
call system_table('console_codes');
call own_workspace_statistics('console_codes', 'workspace_id');

-- The store of rate-limiter-flexible: one row per limit and caller, shared by all API processes. Unlogged, because counts of a minute are
-- not worth a disk write per request; a crash of the server resets them.
create unlogged table rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
call system_table('rate_limits');

-- The responses to requests with an `Idempotency-Key`, for a day.
create table idempotency_keys (
  workspace_id text not null,
  route text not null,
  key text not null,
  request_hash text not null,
  status integer,
  response jsonb,
  created_at timestamptz not null default now(),
  primary key (workspace_id, route, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
call tenant_table('idempotency_keys');
call intake_table('idempotency_keys');

-- Like `idempotency_keys`, for requests with an agency's credential. Responses contain new keys and secrets, so
-- they are encrypted.
create table agency_idempotency_keys (
  agency_id text not null references agencies (id) on delete cascade,
  route text not null,
  key text not null,
  request_hash text not null,
  status integer,
  response_sealed text,
  created_at timestamptz not null default now(),
  primary key (agency_id, route, key)
);
create index agency_idempotency_keys_age on agency_idempotency_keys (created_at);
call system_table('agency_idempotency_keys');
