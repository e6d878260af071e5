-- When the agency key that made the webhook expires: the webhook ends with it.
alter table webhooks add column ends_at timestamptz;
