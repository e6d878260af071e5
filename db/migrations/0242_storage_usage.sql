-- What each workspace has stored: in total, and since the beginning of the day (UTC). Counted by triggers, so that it is
-- right whoever stores or deletes; the row is also the lock under which a quota is kept.
create table storage_usage (
  workspace_id text primary key references workspaces (id) on delete cascade,
  bytes bigint not null default 0,
  day date not null,
  day_bytes bigint not null default 0
) with (fillfactor = 50);
call tenant_table('storage_usage');
revoke insert, update, delete on storage_usage from linepace_tenant, linepace_system;

-- The file of an import, until the import has ended.
alter table lead_imports add column stored_bytes bigint not null default 0;

-- Rows that are deleted along with others are deleted by the owner, who passes no policy of a tenant.
grant select, insert, update on storage_usage to linepace_definer;
create policy definer on storage_usage to linepace_definer using (true) with check (true);

create function count_stored(workspace text, added bigint) returns void
  language sql security definer set search_path = public, pg_temp
  begin atomic
  -- With its workspace goes what it has stored: there is no row to count in.
  insert into storage_usage as u (workspace_id, bytes, day, day_bytes)
  select workspace, added, (now() at time zone 'UTC')::date, greatest(added, 0)
  where added <> 0 and exists (select from workspaces w where w.id = workspace)
  on conflict (workspace_id) do update set
    bytes = u.bytes + added,
    day = excluded.day,
    day_bytes = excluded.day_bytes + case when u.day = excluded.day then u.day_bytes else 0 end;
end;

create function count_attachment() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform count_stored(coalesce(new.workspace_id, old.workspace_id),
    case when new.status = 'stored' then coalesce(new.size, 0) else 0 end
      - case when old.status = 'stored' then coalesce(old.size, 0) else 0 end);
  return null;
end $$;
create trigger count_attachment after insert or delete or update of status, size on attachments
  for each row execute function count_attachment();

create function count_import() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform count_stored(coalesce(new.workspace_id, old.workspace_id),
    coalesce(new.stored_bytes, 0) - coalesce(old.stored_bytes, 0));
  return null;
end $$;
create trigger count_import after insert or delete or update of stored_bytes on lead_imports
  for each row execute function count_import();

revoke execute on function count_stored, count_attachment, count_import from public;
grant linepace_definer to current_user; -- until the end of this file
grant create on schema public to linepace_definer;
alter function count_stored owner to linepace_definer;
alter function count_attachment owner to linepace_definer;
alter function count_import owner to linepace_definer;
revoke create on schema public from linepace_definer;
revoke linepace_definer from current_user;

insert into storage_usage (workspace_id, bytes, day)
select workspace_id, sum(size), (now() at time zone 'UTC')::date from attachments where status = 'stored' group by 1
having sum(size) > 0;
