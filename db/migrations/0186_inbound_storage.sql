-- Of what a workspace has stored on the day, what contacts sent: files of replies, and recordings. They have a budget apart from
-- uploads. `days` counts the days on which something was stored; conversations refer to it.
alter table storage_usage add column inbound_day_bytes bigint not null default 0, add column days integer not null default 0;

-- What has been stored of a contact's files on one day of its workspace.
alter table conversations add column files_day integer, add column files_bytes bigint not null default 0;

-- The functions belong to it.
grant linepace_definer to current_user;
create or replace function count_stored(workspace text, added bigint) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  -- With its workspace goes what it has stored: there is no row to count in.
  if added = 0 or not exists (select from workspaces w where w.id = workspace) then return; end if;
  insert into storage_usage as u (workspace_id, bytes, day, day_bytes)
  values (workspace, added, (now() at time zone 'UTC')::date, greatest(added, 0))
  on conflict (workspace_id) do update set
    bytes = u.bytes + excluded.bytes,
    day = excluded.day,
    days = u.days + case when u.day = excluded.day then 0 else 1 end,
    day_bytes = excluded.day_bytes + case when u.day = excluded.day then u.day_bytes else 0 end,
    inbound_day_bytes = case when u.day = excluded.day then u.inbound_day_bytes else 0 end;
end $$;

create or replace function count_attachment() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  added constant bigint := case when new.status = 'stored' then coalesce(new.size, 0) else 0 end
    - case when old.status = 'stored' then coalesce(old.size, 0) else 0 end;
begin
  perform count_stored(coalesce(new.workspace_id, old.workspace_id), added);
  if added > 0 and (new.inbound_message_id is not null or new.call_id is not null) then
    update storage_usage set inbound_day_bytes = inbound_day_bytes + added where workspace_id = new.workspace_id;
  end if;
  return null;
end $$;
-- old processes: they log in as others.
revoke linepace_definer from current_user;
