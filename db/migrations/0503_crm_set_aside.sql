-- What a CRM fails to take again and again, although it answers otherwise, holds up nothing else.
-- old processes: they do not count failures, and tell what is set aside in its order.
alter table crm_outbox
  add column failures int not null default 0,
  add column first_failed_at timestamptz,
  add column last_failed_at timestamptz;

alter table crm_log drop constraint crm_log_outcome_check;
-- old processes: the outcomes that they write are still allowed; the page of a log that has a new one is answered 500.
alter table crm_log add constraint crm_log_outcome_check check (outcome in ('synced', 'refused', 'conflict', 'set_aside'));
