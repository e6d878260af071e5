grant linepace_definer to current_user; -- until the end of this file
grant create on schema public to linepace_definer;

-- Those of the addresses that the workspace's agency suppresses. A tenant sees nothing else of the list, but how long it is.
-- Two joins on one value each, which can be hashed: the addresses may be those of a large list.
create or replace function suppressed_among(addresses text[]) returns setof text
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

create function suppression_count() returns bigint
  language sql stable security definer set search_path = public, pg_temp
  begin atomic
    select count(*) from agency_suppressions s
    where s.agency_id = (select w.agency_id from workspaces w where w.id = current_workspace());
  end;
alter function suppression_count owner to linepace_definer;
-- old processes: never call it
revoke execute on function suppression_count from public;
grant execute on function suppression_count to linepace_tenant;

-- old processes: have another login than the owner, who loses these rights again
revoke create on schema public from linepace_definer;
-- old processes: have another login than the owner
revoke linepace_definer from current_user;
