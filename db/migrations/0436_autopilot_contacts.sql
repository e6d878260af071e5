-- no transaction
-- What the autopilot sent to a contact.
create index concurrently ai_drafts_autopilot_contacts on ai_drafts (workspace_id, address, resolved_at) where resolved_by = 'autopilot';
