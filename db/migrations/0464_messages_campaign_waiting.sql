-- no transaction
-- What the leads of a campaign wait for: one message of each, because its later steps are held until that one is sent.
create index concurrently messages_campaign_waiting on messages (workspace_id, campaign_id, line_id, hold_reason, is_new, scheduled_at)
  where campaign_id is not null and status in ('pending', 'scheduled') and (not held or hold_reason = 'personalization');
