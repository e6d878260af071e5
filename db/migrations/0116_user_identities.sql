-- Who signed in at the identity provider: its `sub`, and the user that it is. Usually the same text; another, if a user was
-- created with the email address that the provider has verified before they first signed in.
create table user_identities (
  subject text primary key,
  user_id text not null references users (id) on delete cascade,
  created_at timestamptz not null default now()
);
create index user_identities_user on user_identities (user_id);
call system_table('user_identities');
