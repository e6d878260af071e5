-- The texts of one message that are sent one after the other: each is a message of its own, and held until the one before was sent.
-- `bubble_of` is the first of them, `bubble` the place from 1 on; null: it is the first, or alone.
alter table messages add column bubble_of object_id, add column bubble smallint;
create index messages_bubbles on messages (workspace_id, bubble_of) where bubble_of is not null;
create index messages_due_bubbles on messages (workspace_id, line_id, scheduled_at)
  where bubble_of is not null and held and hold_reason is null and status in ('pending', 'scheduled');

-- The attempts of bubbles count in no cap: the first of them has their place.
-- old processes: the kinds that they know are still allowed, and they create no bubbles.
alter table attempts drop constraint attempts_kind_check;
-- old processes: as above.
alter table attempts add constraint attempts_kind_check check (kind in ('primary', 'fallback', 'bubble')) not valid;
