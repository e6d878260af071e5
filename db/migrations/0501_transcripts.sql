-- What a model heard in the audio that a contact sent.
alter table inbound_messages add column transcript text;
alter table attachments
  add column transcribe_at timestamptz, -- when a model is to be asked; null: it is not
  add column transcribe_tries smallint not null default 0;
