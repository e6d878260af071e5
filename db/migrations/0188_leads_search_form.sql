-- no transaction
-- Like leads_search, for searches that ignore accents.
create index concurrently leads_search_form on leads
  using gin (workspace_id, search_form(lead_search_text(first_name, last_name, company_name, emails, phones)) gin_trgm_ops);
