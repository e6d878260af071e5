-- Deliveries to webhooks and carrier events are to be partitioned by day, as events are. What is there, and what comes
-- until the bound, becomes the first partition. The bound is checked in the next migration, while the tables are written,
-- and the migrations after that attach them without looking at any row. It leaves a week for finishing a migration that
-- was interrupted in between: rows beyond the bound are refused until then.
do $$
declare
  bound timestamptz := date_trunc('day', now(), 'UTC') + interval '7 days';
begin
  execute format('alter table webhook_deliveries add constraint webhook_deliveries_bounded check (id < %L) not valid', first_id(bound));
  execute format('alter table carrier_events add constraint carrier_events_bounded check (received_on < %L) not valid', (bound at time zone 'UTC')::date);
end $$;
