-- no transaction
create index concurrently leads_search_of_workspace on leads
  using gin (workspace_id, lead_search_text(first_name, last_name, company_name, emails, phones) gin_trgm_ops);
