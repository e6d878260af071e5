create table opt_outs (
  workspace_id text not null references workspaces (id) on delete cascade,
  address text not null,
  source text not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, address)
);
create index opt_outs_newest on opt_outs (workspace_id, created_at, address);
call tenant_table('opt_outs');

-- A ledger of consents and withdrawals. Rows are only added; the latest entry of an address and channel counts.
create table consents (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  address text not null,
  channel text not null check (channel in ('imessage', 'sms', 'email', 'any')),
  status text not null check (status in ('granted', 'revoked')),
  source text not null check (source in ('form', 'import', 'keyword', 'verbal', 'api')),
  evidence text,
  at timestamptz not null,
  created_at timestamptz not null default now(),
  -- The source of an opt-out or opt-in; null: the entry is a separate consent or withdrawal.
  origin text check (origin in ('reply', 'unsubscribe', 'carrier', 'complaint', 'api')),
  reply_id object_id, -- in which the contact said so
  primary key (workspace_id, id)
);
create index consents_latest on consents (workspace_id, address, at, id);
-- The opt-outs and opt-ins of a period, newest first.
create index consents_opt_outs on consents (workspace_id, at, id) where origin is not null;
call tenant_table('consents');
revoke update, delete on consents from linepace_tenant;
revoke update on consents from linepace_system;
grant select, delete on consents to linepace_definer;
create policy definer on consents to linepace_definer using (true);

-- Only the erasure of a contact deletes its entries. On a cluster it runs on the node of the workspace (db/distribute.ts).
create function erase_consents(of_workspace text, of_addresses text[]) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if of_workspace is distinct from current_workspace() then
    raise 'consents of another workspace';
  end if;
  delete from consents where workspace_id = of_workspace and address = any(of_addresses);
end $$;
call definer_function('erase_consents');

-- Replies that ask, or may ask, to be left alone in other words than the keywords. A person decides; until then campaigns wait.
create table opt_out_suspicions (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  address text not null,
  reply_id object_id not null,
  status text not null default 'open' check (status in ('open', 'confirmed', 'dismissed')),
  decided_by text, -- the id of the user or key
  created_at timestamptz not null default now(),
  decided_at timestamptz,
  -- `doubtful`: the rules cannot tell whether the reply asks to be left alone. The model of the copilot is asked, and its answer
  -- is kept.
  certainty text not null default 'clear',
  answered_at timestamptz,
  model text,
  verdict text,
  confidence real,
  reason text,
  model_error text,
  prompt_tokens integer,
  completion_tokens integer,
  primary key (workspace_id, id)
);
create unique index opt_out_suspicions_open on opt_out_suspicions (workspace_id, address) where status = 'open';
create index opt_out_suspicions_address on opt_out_suspicions (workspace_id, address);
create index opt_out_suspicions_awaited on opt_out_suspicions (workspace_id, id)
  where status = 'open' and certainty = 'doubtful' and answered_at is null;
call tenant_table('opt_out_suspicions');

-- Addresses and domains to which no client of an agency sends.
create table agency_suppressions (
  agency_id text not null references agencies (id) on delete cascade,
  value text not null, -- an address, or a domain with its `@`
  reason text,
  created_by text, -- the id of the user
  created_at timestamptz not null default now(),
  primary key (agency_id, value)
);
create index agency_suppressions_newest on agency_suppressions (agency_id, created_at, value);
call system_table('agency_suppressions');
grant select on agency_suppressions to linepace_definer;

-- The given addresses that the workspace's agency suppresses. A tenant sees nothing else of the list, except its length.
-- Two joins on one value each, which can be hashed, because the addresses may be those of a large list.
create function suppressed_among(addresses text[]) returns setof text
  language sql stable security definer set search_path = public, pg_temp rows 1
  begin atomic
    select a.address from unnest(addresses) as a (address)
    join agency_suppressions s on s.value = a.address
      and s.agency_id = (select w.agency_id from workspaces w where w.id = current_workspace())
    union
    select a.address from unnest(addresses) as a (address)
    join agency_suppressions s on s.value = '@' || split_part(a.address, '@', 2)
      and s.agency_id = (select w.agency_id from workspaces w where w.id = current_workspace());
  end;
call definer_function('suppressed_among');

create function suppression_count() returns bigint
  language sql stable security definer set search_path = public, pg_temp
  begin atomic
    select count(*) from agency_suppressions s
    where s.agency_id = (select w.agency_id from workspaces w where w.id = current_workspace());
  end;
call definer_function('suppression_count');

-- Addresses that asked for no more invitations, as hashes, because they belong to nobody who has an account.
create table mail_suppressions (
  address_hash text primary key,
  created_at timestamptz not null default now()
);
call system_table('mail_suppressions');
