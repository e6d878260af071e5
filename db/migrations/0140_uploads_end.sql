-- Uploads end with their links; `kept_until` tells when to look whether something still needs them. Files that contacts
-- sent and recordings stay with their conversations and calls.
alter table attachments add column kept_until timestamptz;
update attachments set kept_until = created_at + interval '374 days'
  where inbound_message_id is null and call_id is null and voice_note_of is null;
create index attachments_kept_until on attachments (kept_until) where kept_until is not null;

-- What still needs its files, and what a carrier may still fetch files of.
create index messages_files_unsent on messages (workspace_id)
  where attachment_urls <> '{}' and (status in ('pending', 'scheduled', 'sending') or fallback_sms = 'due');
create index messages_files_sent on messages (workspace_id, sent_at) where attachment_urls <> '{}' and sent_at is not null;
