-- The planner may not ask a tenant's statistics, so it takes every pattern for as common as any other: one that matches
-- nothing was looked for in all leads. Now the newest 2,000 are looked through first. When these are not enough the
-- pattern is a rare one, and its matches are found by the index and sorted then.
grant linepace_definer to current_user; -- until the end of this file
grant create on schema public to linepace_definer;
set local role linepace_definer;
drop function search_leads;
reset role;
create function search_leads(pattern text, list text, before text, most integer, is_beginning boolean)
  returns setof text language plpgsql stable security definer set search_path = public, pg_temp rows 50 as $$
declare
  searched constant text := 'lead_search_text(l.first_name, l.last_name, l.company_name, l.emails, l.phones)';
  matches constant text := case when is_beginning
    then format('(%1$s ilike $1 || ''%%'' or %1$s ilike ''%% '' || $1 || ''%%'')', searched)
    else format('%s ilike ''%%'' || $1 || ''%%''', searched) end
    || case when list is not null then
      ' and exists (select from list_addresses a where a.workspace_id = l.workspace_id and a.list_id = $2 and a.lead_id = l.id)'
      else '' end;
  newest text[];
begin
  execute format('
    select array(
      select l.id::text from (
        select * from leads where workspace_id = current_workspace() and id < $3 order by id desc limit 2000
      ) l where %s order by l.id desc limit $4)', matches)
    into newest using pattern, list, before, most;
  if cardinality(newest) >= most then
    return query select unnest(newest);
  else
    return query execute format('
      with found as materialized (
        select l.id from leads l where l.workspace_id = current_workspace() and %s
      )
      select id::text from found where id < $3 order by id desc limit $4', matches)
      using pattern, list, before, most;
  end if;
end $$;
alter function search_leads owner to linepace_definer;
revoke create on schema public from linepace_definer;
revoke execute on function search_leads from public;
grant execute on function search_leads to linepace_tenant;
revoke linepace_definer from current_user;
