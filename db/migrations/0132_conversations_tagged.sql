-- no transaction
-- Few conversations of many have tags.
create index concurrently conversations_tagged on conversations (workspace_id, address) include (tags) where tags <> '{}';
