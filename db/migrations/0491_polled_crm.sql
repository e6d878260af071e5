-- no transaction
create index concurrently workflow_wakes_rounds on workflow_wakes (split_part(workflow_id, ':', 1), wake_at)
  where split_part(workflow_id, ':', 1) in ('webhook-dispatcher', 'mailbox-reader', 'drip-drainer', 'crm-connection') and wake_at < 'infinity';
