-- In test mode the team is that of the workspace whose twin it is, as for `inbox_members`: a contact gets an owner there, and
-- everybody who may be assigned a conversation is listed.
grant linepace_definer to current_user;
create or replace function current_team() returns table (user_id text, email text, name text, role text, is_owner boolean, joined_at timestamptz)
  language sql stable security definer set search_path = public, pg_temp
  begin atomic
  select m.user_id, u.email, u.name, m.role, m.is_owner, m.joined_at
  from workspaces w
  join workspace_members m on m.workspace_id = coalesce(w.live_workspace_id, w.id)
  join users u on u.id = m.user_id
  where w.id = current_workspace();
end;
-- old processes: they log in as others.
revoke linepace_definer from current_user;
