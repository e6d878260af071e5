-- Links and QR codes with which a contact writes first. The contact's message contains the code, which records the consent.
create table opt_in_links (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  code text not null, -- in the URL and in the message; its workspace is in `lookups`
  name text not null,
  line_id object_id, -- the contact writes to this line, or to one of the pool
  pool_id object_id,
  text text not null, -- what the contact sends, without the code
  consent text not null, -- the wording that the contact sees and agrees to
  list_id object_id, -- where the contact becomes a lead; null: Quick Sends
  tags text[] not null default '{}',
  campaign_id object_id, -- that the lead enters
  visits integer not null default 0,
  messages integer not null default 0, -- that contained the code
  leads integer not null default 0, -- new ones
  created_at timestamptz not null default now(),
  primary key (workspace_id, id),
  check ((line_id is null) <> (pool_id is null))
);
create unique index opt_in_links_code on opt_in_links (workspace_id, code);
call tenant_table('opt_in_links');

-- old processes: the kinds that they know are still allowed.
alter table lookups drop constraint lookups_kind_check;
-- old processes: as above.
alter table lookups add constraint lookups_kind_check check (kind in ('line', 'key', 'invitation', 'opt_in_link'));

-- Messages with the code of a link whose lead is not saved yet.
create table opt_in_replies (
  workspace_id text not null,
  reply_id object_id not null,
  link_id object_id not null,
  primary key (workspace_id, reply_id),
  foreign key (workspace_id, link_id) references opt_in_links (workspace_id, id) on delete cascade
);
call tenant_table('opt_in_replies');

-- Codes that a person sends from their number to prove that it is theirs.
create table verifications (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  address text not null, -- the key of the contact
  phone text not null,
  line_id object_id not null,
  code text not null,
  reply_id object_id, -- the message with the code
  verified_at timestamptz,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create index verifications_open on verifications (workspace_id, address) where verified_at is null;
create index verifications_age on verifications (created_at);
call tenant_table('verifications');
