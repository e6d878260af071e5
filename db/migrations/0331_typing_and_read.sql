-- Actions about a conversation rather than a message: typing, and telling that messages were read. `message_id` names one of its messages.
-- old processes: the actions that they know are still allowed.
alter table message_actions drop constraint message_actions_kind_check;
-- old processes: as above.
alter table message_actions add constraint message_actions_kind_check check (kind in ('reaction', 'edit', 'unsend', 'typing', 'read'));

-- When contacts see that their messages were read.
alter table lines add column read_receipts text not null default 'off' check (read_receipts in ('off', 'on_open', 'on_reply'));
