-- The passkeys (WebAuthn credentials) with which people sign in here, without an identity provider.
create table passkeys (
  id object_id primary key,
  user_id text not null references users (id) on delete cascade,
  -- The id that the authenticator gave it, in base64url.
  credential_id text not null unique,
  public_key bytea not null,
  -- How often the authenticator says that it was used. 0: it does not count.
  counter bigint not null,
  transports text[] not null,
  name text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index passkeys_user on passkeys (user_id);
call system_table('passkeys');

-- What authenticators are asked to sign, once. `user_id` is who adds a passkey; null: somebody signs in.
create table passkey_challenges (
  challenge text primary key,
  user_id text references users (id) on delete cascade,
  expires_at timestamptz not null
);
call system_table('passkey_challenges');
