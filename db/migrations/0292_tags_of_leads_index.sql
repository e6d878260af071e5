-- no transaction
-- Few leads of many have tags.
create index concurrently leads_tagged on leads (workspace_id, id) include (tags) where tags <> '{}';
