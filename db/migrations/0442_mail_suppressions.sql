-- Addresses that asked for no more invitations, as hashes, because they belong to nobody who has an account.
create table mail_suppressions (
  address_hash text primary key,
  created_at timestamptz not null default now()
);
call system_table('mail_suppressions');
