-- Events are to be partitioned by day, so that deleting old ones costs no work for each row. Ids begin with the time. What
-- is there, and what comes until the day after tomorrow, becomes the first partition: bounded here, checked in the next
-- migration while events are written and read, and attached in the one after that without looking at any row.
create function first_id(at timestamptz) returns text language sql immutable parallel safe
  return lpad(to_hex(extract(epoch from at)::bigint), 8, '0') || repeat('0', 16);

do $$
begin
  execute format('alter table events add constraint events_bounded check (id < %L) not valid',
    first_id(date_trunc('day', now(), 'UTC') + interval '2 days'));
end $$;
