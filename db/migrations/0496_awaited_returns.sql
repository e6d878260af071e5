-- The automatic reply in which the model is to find when the lead is back; null: none, or it was asked.
alter table campaign_leads add column return_reply_id object_id;
