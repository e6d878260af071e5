-- no transaction
-- What was done to a message or a contact, for the evidence about it.
create index concurrently audit_log_target on audit_log (workspace_id, target_id, id);
