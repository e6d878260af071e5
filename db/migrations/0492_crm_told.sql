-- When the CRM was last told of an opt-out or opt-in, by its own clock: an earlier version of the contact does not know of it.
alter table crm_links add column told_at timestamptz;
