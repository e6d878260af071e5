-- Sharing the contact card of a line by its carrier.
-- old processes: the actions that they know are still allowed; one of the new kind waits for a process that knows it.
alter table message_actions drop constraint message_actions_kind_check;
-- old processes: as above.
alter table message_actions add constraint message_actions_kind_check
  check (kind in ('reaction', 'edit', 'unsend', 'typing', 'read', 'contact_card'));
