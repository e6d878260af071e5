-- How an opt-out or opt-in came about; null: the entry is neither, but a consent or withdrawal of its own.
alter table consents
  add column origin text check (origin in ('reply', 'unsubscribe', 'carrier', 'complaint', 'api')),
  add column reply_id object_id; -- in which the contact said so
