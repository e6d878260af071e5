-- The domain of an address is what follows its last @: the part before it may contain others, in quotes.
grant linepace_definer to current_user;
create or replace function suppressed_among(addresses text[]) returns setof text
  language sql stable security definer set search_path = public, pg_temp rows 1
  begin atomic
    select a.address from unnest(addresses) as a (address)
    join agency_suppressions s on s.value = a.address
      and s.agency_id = (select w.agency_id from workspaces w where w.id = current_workspace())
    union
    select a.address from unnest(addresses) as a (address)
    join agency_suppressions s on s.value = '@' || split_part(a.address, '@', -1)
      and s.agency_id = (select w.agency_id from workspaces w where w.id = current_workspace());
  end;
-- old processes: it was granted two statements ago.
revoke linepace_definer from current_user;
