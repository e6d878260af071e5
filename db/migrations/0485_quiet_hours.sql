-- Quiet hours of workspaces and campaigns; null: none of their own.
alter table workspaces add column quiet_hours jsonb;
alter table campaigns add column quiet_hours jsonb;
create index campaigns_quiet_hours on campaigns (workspace_id) where quiet_hours is not null;
alter table leads add column timezone text;

-- Where the recipient is: by the lead's time zone, or by the number.
alter table messages
  add column recipient_zones text[], -- null: not known, so those of the workspace count
  add column recipient_region text; -- a state of the United States

-- Recipients in the same zones and state are asleep at the same times, so a plan decides that once for all of them: a lane
-- holds the messages of one campaign, one window and one place. Drips have lanes of their own, as quiet hours may apply to
-- them alone.
create or replace function message_joins_queue() returns trigger language plpgsql as $$
begin
  new.is_new := coalesce(new.answers_until <= now(), true) and not exists (
    select from public.line_contacts lc
    where lc.workspace_id = new.workspace_id and lc.line_id = new.line_id and lc.address = new.address);
  new.lane := md5(concat_ws('|', coalesce(new.campaign_id::text, ''), coalesce(new.window_timezone, ''),
    coalesce(new.window_start, ''), coalesce(new.window_end, ''), new.window_days::text,
    case when new.source = 'crm-drip' then 'drip' end, new.recipient_zones::text, new.recipient_region));
  return new;
end $$;

-- old processes: never write these columns
create trigger message_changes_place before update of recipient_zones, recipient_region on messages
  for each row when (new.status in ('pending', 'scheduled') and not new.held)
  execute function message_joins_queue();

update messages set recipient_zones = recipient_zones
where status in ('pending', 'scheduled') and not held and source = 'crm-drip';
