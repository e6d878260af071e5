-- Each batch writes the wakes of its drainers, also of those that are at work. Before, it wrote none for these, and a drainer that was to
-- rest waited for all other transactions and looked once more.

create or replace function buffer_drips(batch jsonb, drainer text, look_at timestamptz, wake_signal text, of_workspaces text,
  out duplicates json, out woken text[]) language plpgsql as $$
#variable_conflict use_column
declare
  expired timestamptz := now() - interval '60 minutes';
  claimed int;
  buffered int;
  taken int[] := '{}';
  filled text[];
  woke record;
begin
  if of_workspaces is not null then
    perform set_local('app.intake_workspaces', of_workspaces), set_local('lock_timeout', '100'),
      set_local('plan_cache_mode', 'force_generic_plan');
  end if;

  with claims as (
    -- In one order, so that two batches with the same fingerprints do not deadlock.
    insert into drip_claims as c (workspace_id, fingerprint, message_id, scheduled_at, jitter_ms)
    select d.workspace_id, decode(d.fingerprint, 'hex'), decode(d.id, 'hex'), d.scheduled_at, d.jitter_ms
    from jsonb_to_recordset(batch) as d (workspace_id text, fingerprint text, id text, scheduled_at timestamptz, jitter_ms int)
    order by d.workspace_id, d.fingerprint
    on conflict (workspace_id, fingerprint) do update
      set message_id = excluded.message_id, scheduled_at = excluded.scheduled_at, jitter_ms = excluded.jitter_ms,
        created_at = excluded.created_at
      where c.created_at < expired
    returning null
  )
  select count(*) into claimed from claims;

  if claimed < jsonb_array_length(batch) then
    -- In a statement of its own, because a concurrent batch may have committed since the first one began.
    select coalesce(array_agg(d.n), '{}'), json_agg(json_build_object('n', d.n, 'jitterMs', c.jitter_ms,
        'scheduledMs', (extract(epoch from c.scheduled_at) * 1000)::bigint))
      into taken, duplicates
      from jsonb_to_recordset(batch) as d (n int, workspace_id text, fingerprint text, id text)
      join drip_claims c on c.workspace_id = d.workspace_id and c.fingerprint = decode(d.fingerprint, 'hex')
      where c.message_id <> decode(d.id, 'hex');
  end if;

  with drips as (
    insert into drip_buffer (workspace_id, id, draft)
    select d.workspace_id, d.id, d.draft
    from jsonb_to_recordset(batch) as d (n int, workspace_id text, id text, draft jsonb)
    where d.n <> all(taken) order by d.n
    returning null
  )
  select count(*) into buffered from drips;
  if buffered = 0 then return; end if;
  -- What `writeWakes` (db/wakes) writes for a request.
  filled := array(
    select distinct d.workspace_id from jsonb_to_recordset(batch) as d (n int, workspace_id text) where d.n <> all(taken));

  for woke in
    insert into workflow_wakes as w (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by, signal)
    select f.id, drainer || f.id, look_at, look_at + interval '30 seconds', pg_current_xact_id(), pg_current_xact_id(), wake_signal
    from unnest(filled) f (id)
    order by 1
    on conflict (workspace_id, workflow_id) do update set
      wake_at = least(w.wake_at, excluded.wake_at),
      sweep_at = case when excluded.wake_at < w.wake_at then excluded.sweep_at else w.sweep_at end,
      lowered_by = case when excluded.wake_at < w.wake_at then excluded.lowered_by else w.lowered_by end,
      signal = excluded.signal,
      requested_by = excluded.requested_by
    returning w.workspace_id, w.lowered_by = w.requested_by lowered
  loop
    if woke.lowered then woken := woken || woke.workspace_id; end if;
  end loop;
end $$;
