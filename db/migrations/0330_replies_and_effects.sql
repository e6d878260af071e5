-- What a message answers, of ours or of a contact, and how its bubble or the screen moves when it arrives.
alter table messages add column reply_to_id object_id, add column effect text;
-- old processes: they neither read nor write these columns.
