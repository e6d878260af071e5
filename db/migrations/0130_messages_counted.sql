-- no transaction
-- What analytics count of a message, in the order of time: read from the index alone, and not from rows of half a
-- kilobyte. What has not come to an end counts in no metric and is not in it.
create index concurrently messages_counted on messages (workspace_id, created_at)
  include (address, status, fallback_sms, line_id, campaign_id, created_by_user_id)
  where status in ('sent', 'delivered', 'fallback', 'failed') or fallback_sms = 'dispatched';
