-- The key of the workspace or its agency, whatever its limits, that registered the webhook or last changed its URL; null: a person did.
alter table webhooks add column registered_by_key_id text;
update webhooks set registered_by_key_id = made_by_key_id where made_by_key_id is not null;
