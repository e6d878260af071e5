-- What may be large is hidden at once and deleted in chunks by a workflow.
alter table lead_lists add column deleted_at timestamptz;
create index lead_lists_deleted on lead_lists (workspace_id) where deleted_at is not null;
alter table campaigns add column deleted_at timestamptz;
