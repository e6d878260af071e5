-- Links that sign a person in once, as hashes. `browser_hash` is of the cookie of the browser that asked for the link by email: it
-- opens in no other. null: an operator's command printed it, and it opens in any browser.
create table sign_in_links (
  hash text primary key,
  user_id text not null references users (id) on delete cascade,
  browser_hash text,
  expires_at timestamptz not null
);
call system_table('sign_in_links');
