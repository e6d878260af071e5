-- Addresses and domains to which no client of an agency sends.
create table agency_suppressions (
  agency_id text not null references agencies (id) on delete cascade,
  value text not null, -- an address, or a domain with its `@`
  reason text,
  created_by text, -- the id of the user
  created_at timestamptz not null default now(),
  primary key (agency_id, value)
);
call system_table('agency_suppressions');

-- Those of the addresses that the workspace's agency suppresses. A tenant sees nothing else of the list.
create function suppressed_among(addresses text[]) returns setof text
  language sql stable security definer set search_path = public, pg_temp rows 1
  begin atomic
    select a.address from workspaces w, unnest(addresses) as a (address)
    where w.id = current_workspace() and exists (
      select from agency_suppressions s
      where s.agency_id = w.agency_id and s.value in (a.address, '@' || split_part(a.address, '@', 2)));
  end;
grant select on agency_suppressions to linepace_definer;
grant linepace_definer to current_user; -- until the end of this file
grant create on schema public to linepace_definer;
alter function suppressed_among owner to linepace_definer;
-- old processes: have another login than the owner, who loses these rights again
revoke create on schema public from linepace_definer;
-- old processes: never call it
revoke execute on function suppressed_among from public;
grant execute on function suppressed_among to linepace_tenant;
-- old processes: have another login than the owner
revoke linepace_definer from current_user;
