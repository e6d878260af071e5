-- When the workspace was last told that a webhook fails: once, until a delivery succeeds again.
alter table webhooks add column told_failing_at timestamptz;
