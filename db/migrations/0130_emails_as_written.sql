-- What an email says besides its text, and what is known about its sender.
alter table inbound_messages
  add column subject text,
  add column sender_name text,
  add column authentication jsonb, -- what the receiving server found about the sender
  add column warning text check (warning in ('sender_not_verified', 'own_address', 'invalid_sender')),
  add column fingerprint text, -- tells emails with the same Message-ID apart
  add column email_references text[], -- the ids of the thread that it continues
  -- Whether it counts in metrics of replies: nobody has written to a stranger.
  add column counted boolean not null default true;

-- The subject of an email as it was sent, if it is not the message's own.
alter table messages add column sent_subject text;
