-- Emails as they were received: `body` is what the contact wrote in them. Null: `body` is all of it.
alter table inbound_messages add column whole_text text;
