create table lead_lists (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  name text not null,
  description text not null default '',
  created_by_user_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  is_quick_sends boolean not null default false,
  lead_count integer not null default 0,
  -- A list may be large: it is hidden at once, and a workflow deletes it in chunks.
  deleted_at timestamptz,
  primary key (workspace_id, id)
);
create unique index lead_lists_quick_sends on lead_lists (workspace_id) where is_quick_sends;
create index lead_lists_deleted on lead_lists (workspace_id) where deleted_at is not null;
call tenant_table('lead_lists');

-- For the index of the search, which begins with the workspace and ends with any part of a name.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- The searchable text of a lead. Immutable for text arguments, which PostgreSQL cannot know about array_to_string.
create function lead_search_text(first_name text, last_name text, company_name text, emails text[], phones text[])
  returns text language sql immutable parallel safe
  return concat_ws(' ', first_name, last_name, company_name, array_to_string(emails || phones, ' '));

create table leads (
  workspace_id text not null,
  id object_id not null,
  list_id object_id not null,
  first_name text not null default '',
  last_name text not null default '',
  emails text[] not null default '{}',
  phones text[] not null default '{}',
  company_name text not null default '',
  job_title text not null default '',
  notes text not null default '',
  contact_owner_email text,
  custom_fields jsonb not null default '{}',
  status text check (status in ('available', 'unavailable', 'error')),
  source text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  timezone text,
  primary key (workspace_id, id),
  -- Not cascaded, because a list can be deleted while another deleted list moves leads to it.
  foreign key (workspace_id, list_id) references lead_lists (workspace_id, id)
);
-- The leads that a list owns, which are deleted with it.
create index leads_list on leads (workspace_id, list_id, id);
create index leads_search on leads
  using gin (workspace_id, lead_search_text(first_name, last_name, company_name, emails, phones) gin_trgm_ops);
call tenant_table('leads');
grant select on leads to linepace_definer;
create policy definer on leads for select to linepace_definer using (true);

-- The addresses of each list, and their leads: a list contains an address once, and a lead is in every list
-- that has an address of it. Written together with the lead, under the list's row lock.
create table list_addresses (
  workspace_id text not null,
  list_id object_id not null,
  address text not null,
  lead_id object_id not null,
  primary key (workspace_id, address, list_id)
);
create index list_addresses_members on list_addresses (workspace_id, list_id, lead_id);
call tenant_table('list_addresses');
grant select on list_addresses to linepace_definer;
create policy definer on list_addresses for select to linepace_definer using (true);

-- The ids of the newest leads of this transaction's workspace that match. A policy forbids the tenant's role to look into an
-- index with `ilike`, whose errors could reveal other tenants' rows; this function bypasses the policy, with the same result.
-- The planner may not use a tenant's statistics, so it assumes that all patterns are equally common. The newest 2,000 leads
-- are searched first; if they are not enough, the pattern is rare, and its matches are found by the index and
-- sorted. For one or two letters (`is_beginning`), which the index cannot find inside a word, the words that begin
-- with them are found.
create function search_leads(pattern text, list text, before text, most integer, is_beginning boolean)
  returns setof text language plpgsql stable security definer set search_path = public, pg_temp rows 50 as $$
declare
  of_workspace constant text := current_workspace();
  searched constant text := 'lead_search_text(l.first_name, l.last_name, l.company_name, l.emails, l.phones)';
  matches constant text := case when is_beginning
    then format('(%1$s ilike $1 || ''%%'' or %1$s ilike ''%% '' || $1 || ''%%'')', searched)
    else format('%s ilike ''%%'' || $1 || ''%%''', searched) end
    || case when list is not null then
      ' and exists (select from list_addresses a where a.workspace_id = $5 and a.list_id = $2 and a.lead_id = l.id)'
      else '' end;
  newest text[];
begin
  execute format('
    select array(
      select l.id::text from (
        select * from leads where workspace_id = $5 and id < $3 order by id desc limit 2000
      ) l where %s order by l.id desc limit $4)', matches)
    into newest using pattern, list, before, most, of_workspace;
  if cardinality(newest) >= most then
    return query select unnest(newest);
  else
    return query execute format('
      with found as materialized (
        select l.id from leads l where l.workspace_id = $5 and %s
      )
      select id::text from found where id < $3 order by id desc limit $4', matches)
      using pattern, list, before, most, of_workspace;
  end if;
end $$;
call definer_function('search_leads');

-- The names of custom fields that the contacts of a workspace have, or once had: they are limited in number.
create table custom_field_names (
  workspace_id text not null references workspaces (id) on delete cascade,
  name text not null,
  primary key (workspace_id, name)
);
call tenant_table('custom_field_names');

create table lead_imports (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  list_id object_id not null,
  status text not null default 'running' check (status in ('running', 'completed', 'failed')),
  file_key text not null,
  default_country_code text,
  columns text[] not null default '{}',
  processed integer not null default 0,
  saved integer not null default 0,
  duplicates integer not null default 0,
  rejected integer not null default 0,
  error text,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The file of an import, until the import has ended.
  stored_bytes bigint not null default 0,
  primary key (workspace_id, id),
  foreign key (workspace_id, list_id) references lead_lists (workspace_id, id) on delete cascade
);
create index lead_imports_list on lead_imports (workspace_id, list_id);
call tenant_table('lead_imports');

create table rejected_rows (
  workspace_id text not null references workspaces (id) on delete cascade,
  import_id object_id not null,
  row_number integer not null,
  reason text not null,
  fields text[] not null,
  primary key (workspace_id, import_id, row_number),
  foreign key (workspace_id, import_id) references lead_imports (workspace_id, id) on delete cascade
);
call tenant_table('rejected_rows');

-- Only positive results: carriers sometimes report no by mistake, so a negative result is checked again.
create table available_addresses (
  workspace_id text not null references workspaces (id) on delete cascade,
  address text not null,
  checked_at timestamptz not null,
  primary key (workspace_id, address)
);
create index available_addresses_age on available_addresses (checked_at);
call tenant_table('available_addresses');

-- Availability checks of many leads at once.
create table availability_jobs (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  status text not null default 'running' check (status in ('running', 'completed')),
  lead_ids text[] not null,
  checked integer not null default 0,
  available integer not null default 0,
  unavailable integer not null default 0,
  errors integer not null default 0,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
call tenant_table('availability_jobs');
