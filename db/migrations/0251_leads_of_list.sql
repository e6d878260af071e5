-- no transaction
-- The leads that a list owns: those that go with it.
create index concurrently leads_list on leads (workspace_id, list_id, id);
