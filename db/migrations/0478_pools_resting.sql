-- A line that rests starts no conversations, and after a while its pools give those messages to other lines.
-- Judged again when its reputation, its policy or its override changes: the policy of its workspace counts from the next judgement.
create or replace function line_stop(l lines) returns text language sql stable as $$
  select case
    when not l.is_active or l.provisioning_status <> 'active' then 'line_inactive'
    when l.paused_at is not null then 'line_paused'
    when l.health_status = 'down' then 'line_down'
    when l.reputation_rests_until > now()
      and coalesce(l.reputation_override_until, '-infinity') <= now()
      and coalesce(l.reputation_policy, (select w.reputation_policy from public.workspaces w where w.id = l.workspace_id)) = 'protect'
      then 'line_resting'
  end
$$;

-- old processes: as before, they neither read nor write what it sets.
create or replace trigger line_stops
  before insert or update of is_active, provisioning_status, paused_at, health_status,
    reputation_rests_until, reputation_policy, reputation_override_until
  on lines for each row execute function note_line_stop();
