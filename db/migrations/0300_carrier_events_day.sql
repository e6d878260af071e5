-- Carrier events are to be partitioned by the day they came on. What is there counts as received today.
alter table carrier_events add column received_on date not null default (now() at time zone 'UTC')::date;
