-- The name of the last signal that a workflow was to get (workflows/messages/signals.ts); null: it looks by itself.
alter table workflow_wakes add column signal text;
