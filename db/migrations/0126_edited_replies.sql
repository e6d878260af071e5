-- Contacts can edit and unsend what they have written. Former texts are kept as evidence, and shown to nobody:
-- `[{text, until}]`, the oldest first.
alter table inbound_messages add column edited_at timestamptz, add column unsent_at timestamptz,
  add column former_texts jsonb not null default '[]';
