-- When somebody last wrote to the contact. Steps of campaigns and drips answer nobody.
alter table conversations add column answered_at timestamptz;

-- Only of contacts who wrote: for the others, it does not matter.
update conversations c set answered_at = (
  select max(coalesce(sent_at, fallback_at, updated_at)) from messages m
  where m.workspace_id = c.workspace_id and m.address = c.address
    and (sent_at is not null or status = 'sending' or fallback_sms = 'dispatched')
    and campaign_id is null and source <> 'crm-drip'
)
where last_inbound_at is not null;
