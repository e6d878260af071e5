-- no transaction
create index concurrently attachments_untranscribed on attachments (workspace_id, transcribe_at) where transcribe_at is not null;
