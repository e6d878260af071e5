-- What strangers write, and what may be forged, counts in no metric of replies.
create or replace trigger note_reply after insert on inbound_messages for each row
  when (new.counted) execute function note_reply_change();
create or replace trigger note_reply_change after update of address, received_at, line_id, campaign_id, original_message_id, auto_reply
  on inbound_messages for each row
  when (new.counted and (old.address, old.received_at, old.line_id, old.campaign_id, old.original_message_id, old.auto_reply)
    is distinct from (new.address, new.received_at, new.line_id, new.campaign_id, new.original_message_id, new.auto_reply))
  execute function note_reply_change();
