-- The messages of a line's queue that the pacing rules treat alike, whoever their contacts are, are a lane: of one campaign
-- and one window, to strangers or not. A plan looks at the lanes that may send, and reads nothing of the others, however
-- many messages they have. Both columns mean something only while a message is in the queue.
alter table messages
  add column is_new boolean not null default true, -- the line has never exchanged a message with the address
  add column lane uuid; -- of the campaign and the window

-- Whoever puts a message into a queue: its intake, the step before it, the model that has written it, a send that has not
-- left, another line.
create function message_joins_queue() returns trigger language plpgsql as $$
begin
  new.is_new := coalesce(new.answers_until <= now(), true) and not exists (
    select from public.line_contacts lc
    where lc.workspace_id = new.workspace_id and lc.line_id = new.line_id and lc.address = new.address);
  new.lane := md5(concat_ws('|', coalesce(new.campaign_id::text, ''), coalesce(new.window_timezone, ''),
    coalesce(new.window_start, ''), coalesce(new.window_end, ''), new.window_days::text));
  return new;
end $$;
create trigger message_enters_queue before insert on messages
  for each row when (new.status in ('pending', 'scheduled') and not new.held)
  execute function message_joins_queue();
create trigger message_returns_to_queue before update of status, held, line_id on messages
  for each row when (
    new.status in ('pending', 'scheduled') and not new.held
    and (old.status not in ('pending', 'scheduled') or old.held or old.line_id is distinct from new.line_id))
  execute function message_joins_queue();

-- The ends of the last local hour and days in which a cap was used up; null: not since the caps were changed. What was due
-- before waits for the next hour or morning: reaching a cap writes this row and no message.
alter table lines
  add column hourly_new_used_up timestamptz,
  add column daily_new_used_up timestamptz,
  add column daily_total_used_up timestamptz;
