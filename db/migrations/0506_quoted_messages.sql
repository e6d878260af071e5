-- The message, ours or a contact's, that the phone of who wrote shows as the one that is answered. Null: none, or an email.
alter table inbound_messages add column reply_to_id text;
