-- Leads are searched by any part of a name, company, email or phone number.
create extension if not exists pg_trgm;

-- What a search looks into. Immutable as long as it is given texts, which PostgreSQL cannot know of array_to_string.
create function lead_search_text(first_name text, last_name text, company_name text, emails text[], phones text[])
  returns text language sql immutable parallel safe
  return concat_ws(' ', first_name, last_name, company_name, array_to_string(emails || phones, ' '));

create index leads_search on leads
  using gin (lead_search_text(first_name, last_name, company_name, emails, phones) gin_trgm_ops);

-- The ids of the newest leads of this transaction's workspace that match. A policy forbids the tenant's role to look
-- into an index with `ilike`, which could tell of other tenants' rows by its errors; this function has no policy, and
-- says the same. Executed as text, so that it is planned for the pattern: a rare one by the index, a common one by id.
create function search_leads(pattern text, list text, before text, most integer)
  returns setof text language plpgsql stable security definer set search_path = public, pg_temp rows 50 as $$
begin
  return query execute format('
    select l.id::text from leads l
    where l.workspace_id = current_workspace() and l.id < $3
      and lead_search_text(l.first_name, l.last_name, l.company_name, l.emails, l.phones) ilike $1 %s
    order by l.id desc limit $4',
    case when list is not null then
      'and exists (select from list_addresses a where a.workspace_id = l.workspace_id and a.list_id = $2 and a.lead_id = l.id)'
    end) using pattern, list, before, most;
end $$;
revoke execute on function search_leads from public;
grant execute on function search_leads to linepace_tenant;
