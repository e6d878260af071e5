-- no transaction
-- The opt-outs and opt-ins of a period, newest first.
create index concurrently consents_opt_outs on consents (workspace_id, at, id) where origin is not null;
