-- Accepts drips of any number of workspaces in one call: claims their fingerprints for 60 minutes, buffers the drips whose
-- fingerprint was free, and wakes the workflows that drain the buffers. Read committed.
--   batch: a list of {n, workspace_id, id, fingerprint, scheduled_at, jitter_ms, draft}. Each fingerprint of a workspace is
--     there once. Ids and fingerprints are in hexadecimal.
--   drainer: what the ids of the workflows begin with; the workspace follows.
--   of_workspaces: the workspaces of the drips, separated by commas, for a call that is a transaction of its own; null: the
--     transaction has the settings of intake.
--   duplicates: {n, scheduledMs, jitterMs} of those whose fingerprint was claimed before, as claimed; null: none.
--   woken: the workspaces whose workflow would look too late and is to be signaled after the commit; null: none.
create function buffer_drips(batch jsonb, drainer text, look_at timestamptz, wake_signal text, of_workspaces text,
  out duplicates json, out woken text[]) language plpgsql as $$
#variable_conflict use_column
declare
  filled text[];
  taken int[];
begin
  if of_workspaces is not null then
    perform set_config('app.intake_workspaces', of_workspaces, true), set_config('lock_timeout', '100', true),
      set_config('plan_cache_mode', 'force_generic_plan', true);
  end if;

  with mine as materialized (
    select n, workspace_id, decode(fingerprint, 'hex') fingerprint, id, scheduled_at, jitter_ms, draft
    from jsonb_to_recordset(batch) as d (n int, workspace_id text, fingerprint text, id text,
      scheduled_at timestamptz, jitter_ms int, draft jsonb)
  ), claimed as (
    -- In one order, so that two batches with the same fingerprints do not deadlock.
    insert into drip_claims as c (workspace_id, fingerprint, message_id, scheduled_at, jitter_ms)
    select workspace_id, fingerprint, decode(id, 'hex'), scheduled_at, jitter_ms from mine order by workspace_id, fingerprint
    on conflict (workspace_id, fingerprint) do update
      set message_id = excluded.message_id, scheduled_at = excluded.scheduled_at, jitter_ms = excluded.jitter_ms,
        created_at = now()
      where c.created_at < now() - interval '60 minutes'
    returning c.workspace_id, c.fingerprint
  ), buffered as (
    insert into drip_buffer (workspace_id, id, draft)
    select m.workspace_id, m.id, m.draft from mine m join claimed using (workspace_id, fingerprint) order by m.n
  )
  select array_agg(m.n) filter (where claimed.fingerprint is null), array_agg(distinct claimed.workspace_id)
      filter (where claimed.fingerprint is not null)
    into taken, filled
    from mine m left join claimed using (workspace_id, fingerprint);

  if taken is not null then
    -- In a statement of its own, because a concurrent batch may have committed since the first one began.
    select json_agg(json_build_object('n', d.n, 'jitterMs', c.jitter_ms,
        'scheduledMs', (extract(epoch from c.scheduled_at) * 1000)::bigint))
      into duplicates
      from jsonb_to_recordset(batch) as d (n int, workspace_id text, fingerprint text)
      join drip_claims c on c.workspace_id = d.workspace_id and c.fingerprint = decode(d.fingerprint, 'hex')
      where d.n = any(taken);
  end if;

  if filled is null then return; end if;
  -- What `Wakes` in db/transaction-wakes.ts writes for work that an earlier statement has inserted. Its own statement, with
  -- its own snapshot: see there how a wake is lost otherwise.
  with woke as (
    insert into workflow_wakes as w (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by, signal)
    select f.id, drainer || f.id, look_at, look_at + interval '30 seconds', pg_current_xact_id(), pg_current_xact_id(), wake_signal
    from unnest(filled) f (id)
    where not exists (select from workflow_wakes due where due.workflow_id = drainer || f.id and due.wake_at <= look_at)
    order by 2
    on conflict (workflow_id) do update set
      wake_at = least(w.wake_at, excluded.wake_at),
      sweep_at = case when excluded.wake_at < w.wake_at then excluded.sweep_at else w.sweep_at end,
      lowered_by = case when excluded.wake_at < w.wake_at then excluded.lowered_by else w.lowered_by end,
      signal = excluded.signal,
      requested_by = excluded.requested_by
    returning w.workspace_id, w.lowered_by = w.requested_by lowered
  )
  select array_agg(woke.workspace_id) into woken from woke where woke.lowered;
end $$;
