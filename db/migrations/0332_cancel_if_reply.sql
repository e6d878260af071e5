-- A message that is not sent if its contact writes before.
alter table messages add column cancel_if_reply boolean not null default false;
-- The messages that a reply cancels.
create index messages_cancel_if_reply on messages (workspace_id, address)
  where cancel_if_reply and status in ('pending', 'scheduled');
