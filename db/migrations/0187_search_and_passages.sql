create extension if not exists unaccent;

-- A text as a search compares it: without case and accents. Everything that searches uses it, on both sides. Immutable, because
-- nobody changes the rules of the dictionary.
create function search_form(value text) returns text language sql immutable parallel safe
  return lower(case when octet_length(value) = length(value) then value else unaccent('unaccent', value) end);

-- The pattern of `like` for a searched text at any place.
create function search_pattern(searched text) returns text language sql immutable parallel safe
  return '%' || replace(replace(replace(search_form(searched), '\', '\\'), '%', '\%'), '_', '\_') || '%';

-- The passages of a workspace's documents, of which the copilot reads those that have the words of a conversation.
create table document_passages (
  workspace_id text not null references workspaces (id) on delete cascade,
  position integer not null,
  title text not null,
  text text not null,
  size integer not null, -- of the text, in UTF-16 code units
  words text[] not null,
  primary key (workspace_id, position)
);
call tenant_table('document_passages');

-- The `updated_at` of the documents from which the passages were made.
alter table knowledge_bases add column passages_of timestamptz;

-- Like search_leads, without accents. Processes of the previous release call that one.
create function find_leads(searched text, list text, before text, most integer, is_beginning boolean)
  returns setof text language plpgsql stable security definer set search_path = public, pg_temp rows 50 as $$
declare
  of_workspace constant text := current_workspace();
  pattern constant text := search_pattern(searched);
  form constant text := 'search_form(lead_search_text(l.first_name, l.last_name, l.company_name, l.emails, l.phones))';
  matches constant text := case when is_beginning
    then format('(%1$s like substr($1, 2) or %1$s like ''%% '' || substr($1, 2))', form)
    else format('%s like $1', form) end
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
call definer_function('find_leads');

-- What is searched of a contact's message. Contacts may write much and often, so it is made once, and of the beginning only.
-- Messages stored before have none, and are read instead.
alter table inbound_messages add column search_text text;
create function note_search_text() returns trigger language plpgsql as $$
begin
  new.search_text := search_form(left(new.body, 2000));
  return new;
end $$;
-- old processes: their writes get it too.
create trigger note_search_text before insert or update of body on inbound_messages
  for each row execute function note_search_text();
