-- no transaction
create index concurrently crm_connections_account on crm_connections (provider, account_id);
