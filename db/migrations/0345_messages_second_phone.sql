-- no transaction
-- A message also belongs to whom its second address belongs: a phone number beside the email address it goes to.
create index concurrently messages_second_phone on messages (workspace_id, recipient_phone) where recipient_phone <> address;
