-- no transaction
-- What the autopilot sent on a day.
create index concurrently ai_drafts_autopilot_days on ai_drafts (workspace_id, resolved_at) where resolved_by = 'autopilot';
