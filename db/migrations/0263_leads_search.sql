drop index leads_search;
alter index leads_search_of_workspace rename to leads_search;

-- As before, and for one or two letters, of which no part of a word can be looked up in the index: the words that begin
-- with them. Their matches are found first and sorted then: the planner, who may not ask a tenant's statistics, takes
-- every short pattern for a common one.
grant linepace_definer to current_user; -- until the end of this file
grant create on schema public to linepace_definer;
set local role linepace_definer;
drop function search_leads;
reset role;
create function search_leads(pattern text, list text, before text, most integer, is_beginning boolean)
  returns setof text language plpgsql stable security definer set search_path = public, pg_temp rows 50 as $$
declare
  searched constant text := 'lead_search_text(l.first_name, l.last_name, l.company_name, l.emails, l.phones)';
begin
  return query execute format('
    with found as %s (
      select l.id from leads l
      where l.workspace_id = current_workspace() and %s %s
    )
    select id::text from found l where id < $3 order by id desc limit $4',
    case when is_beginning then 'materialized' else 'not materialized' end,
    case when is_beginning then format('(%1$s ilike $1 || ''%%'' or %1$s ilike ''%% '' || $1 || ''%%'')', searched)
      else format('%s ilike ''%%'' || $1 || ''%%''', searched) end,
    case when list is not null then
      'and exists (select from list_addresses a where a.workspace_id = l.workspace_id and a.list_id = $2 and a.lead_id = l.id)'
    end) using pattern, list, before, most;
end $$;
alter function search_leads owner to linepace_definer;
revoke create on schema public from linepace_definer;
revoke execute on function search_leads from public;
grant execute on function search_leads to linepace_tenant;
revoke linepace_definer from current_user;
