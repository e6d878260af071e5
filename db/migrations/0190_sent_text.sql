-- What the contact got, where rendering made it differ from the body: a lead that changes later changes no message.
alter table messages add column sent_text text;
