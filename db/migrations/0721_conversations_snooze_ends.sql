-- no transaction
create index concurrently conversations_snooze_ends on conversations (snoozed_until) where status = 'snoozed';
