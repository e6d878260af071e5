-- The key that made the webhook, if it may not do all that an admin may, or ends: the webhook ends with it.
alter table webhooks add column made_by_key_id text;
