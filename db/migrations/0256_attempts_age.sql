-- no transaction
-- The oldest attempts, for their deletion. They are stored in the order of time: an entry for each range of pages is enough.
create index concurrently attempts_age on attempts using brin (started_at);
