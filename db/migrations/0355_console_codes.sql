-- One-time codes that sign in to the console, as hashes. Only `npm start` makes them.
create table console_codes (
  hash text primary key,
  workspace_id text not null references workspaces (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  expires_at timestamptz not null
);
call system_table('console_codes');
