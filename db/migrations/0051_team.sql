-- People may belong to many workspaces, so a tenant cannot read `users`; this shows it its own.
create function current_team() returns table (user_id text, email text, name text, role text, is_owner boolean, joined_at timestamptz)
  language sql stable security definer set search_path = public
  begin atomic
  select m.user_id, u.email, u.name, m.role, m.is_owner, m.joined_at
  from workspace_members m join users u on u.id = m.user_id
  where m.workspace_id = current_workspace();
end;
