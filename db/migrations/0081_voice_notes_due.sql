-- What is to be made into voice notes before its line sends it.
create index messages_voice_notes on messages (workspace_id, line_id, scheduled_at)
  where voice_note and status in ('pending', 'scheduled');
