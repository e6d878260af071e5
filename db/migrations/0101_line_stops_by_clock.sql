-- As before, but by the clock of the workspace: in test mode it is ahead, and so are the times of the line's reputation and the
-- time at which its pools move its messages.
create or replace function note_line_stop() returns trigger language plpgsql as $$
declare
  ahead bigint := (select c.ahead_ms from test_clocks c where c.workspace_id = new.workspace_id);
  local_now timestamptz := now() + coalesce(ahead, 0) * interval '1 millisecond';
begin
  new.stop_reason := case
    when not new.is_active or new.provisioning_status <> 'active' then 'line_inactive'
    when new.paused_at is not null then 'line_paused'
    when new.health_status = 'down' then 'line_down'
    when new.reputation_rests_until > local_now
      and coalesce(new.reputation_override_until, '-infinity') <= local_now
      and coalesce(new.reputation_policy, (select w.reputation_policy from workspaces w where w.id = new.workspace_id)) = 'protect'
      then 'line_resting'
  end;
  new.stopped_at := case when new.stop_reason is not null then coalesce(new.stopped_at, local_now) end;
  return new;
end $$;
