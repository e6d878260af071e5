-- Outbound messages, from their acceptance on. Analytics use index-only scans, which skip the table only for pages that were vacuumed
-- since they changed. So autovacuum runs after 2 % of the rows have changed instead of 20 %; otherwise the newest fifth of a large
-- table would be read from its rows.
create table messages (
  workspace_id text not null,
  id object_id not null,
  arrival bigint generated always as identity,
  channel text not null check (channel in ('imessage', 'sms', 'email')),
  status text not null constraint messages_status_known check
    (status in ('pending', 'scheduled', 'sending', 'sent', 'delivered', 'fallback', 'failed', 'canceled')),
  hold_reason text,
  line_id object_id, -- null while no line of the workspace can carry it
  line_pinned boolean not null default false,
  eligible_line_ids text[],
  stickiness_policy text not null default 'sticky' check (stickiness_policy in ('sticky', 'round_robin')),
  address text not null,
  recipient_phone text,
  recipient_email text,
  recipient_name text,
  lead_id object_id,
  body text not null default '',
  subject text,
  attachment_urls text[] not null default '{}',
  attachment_names text[] not null default '{}',
  voice_note boolean not null default false,
  scheduled_at timestamptz not null,
  window_timezone text,
  window_start text,
  window_end text,
  window_days smallint[],
  answers_until timestamptz,
  send_fallback_sms_on_failed boolean not null default false,
  sms_fallback_enabled boolean not null default false,
  sms_fallback_message text,
  force_fallback boolean not null default false,
  fallback_sms text check (fallback_sms in ('due', 'dispatched', 'failed')),
  fallback_at timestamptz check (fallback_sms is distinct from 'due' or fallback_at is not null), -- when the SMS may be sent
  source text not null,
  correlation_id text,
  trace_id text,
  batch_id text,
  step_index integer,
  campaign_id object_id,
  crm jsonb not null default '{}',
  transient_failures smallint not null default 0,
  carrier_message_id text,
  sent_at timestamptz,
  delivered_at timestamptz,
  read_at timestamptz,
  error_message text,
  created_by_user_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The reactions of contacts to a message: `[{reaction, from, at, removed}]`, the latest per contact and reaction.
  reactions jsonb not null default '[]',
  -- A held message is not in its line's queue yet, because the previous step has not been sent.
  held boolean not null default false,
  -- The rendered text, if it differs from the body, so that later changes of the lead change no message.
  sent_text text,
  -- Both are meaningful only while a message is in its line's queue: see message_joins_queue.
  is_new boolean not null default true, -- the line has never exchanged a message with the address
  lane uuid,
  pool_id object_id,
  -- The place of the recipient: from the lead's time zone, or from the number.
  recipient_zones text[], -- null: unknown, so the workspace's zone applies
  recipient_region text, -- a state of the United States
  variant text check (variant in ('A', 'B', 'C', 'D')), -- the A/B text of its step
  primary key (workspace_id, id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
create index messages_answers on messages (workspace_id, line_id, answers_until) where status in ('pending', 'scheduled') and answers_until is not null;
create index messages_address on messages (workspace_id, address, id);
create index messages_lead on messages (workspace_id, lead_id, id) where lead_id is not null;
create index messages_line on messages (workspace_id, line_id, id);
create index messages_campaign on messages (workspace_id, campaign_id, id) where campaign_id is not null;
-- The messages that a line sent for a campaign, however many others both have.
create index messages_campaign_line on messages (workspace_id, campaign_id, line_id, id) where campaign_id is not null;
create index messages_status on messages (workspace_id, status, id);
create index messages_correlation on messages (workspace_id, correlation_id, id) where correlation_id is not null;
-- The messages that move away from a stopped or removed line, in send order: each chunk continues where the previous one ended.
create index messages_unsent on messages (workspace_id, line_id, scheduled_at, arrival)
  where status in ('pending', 'scheduled') or fallback_sms = 'due';
create index messages_fallback_due on messages (workspace_id, line_id, fallback_at) where fallback_sms = 'due';
create index messages_steps on messages (workspace_id, campaign_id, lead_id, step_index)
  where campaign_id is not null and status in ('pending', 'scheduled');
create index messages_sent on messages (workspace_id, sent_at) where sent_at is not null;
-- The messages that need voice notes before their line sends them.
create index messages_voice_notes on messages (workspace_id, line_id, scheduled_at)
  where voice_note and status in ('pending', 'scheduled');
-- The columns of a message that analytics count, in chronological order: read only from the index, not from rows of half a
-- kilobyte. A message without a final status counts in no metric and is not in the index.
create index messages_counted on messages (workspace_id, created_at)
  include (address, status, fallback_sms, line_id, campaign_id, created_by_user_id)
  where status in ('sent', 'delivered', 'fallback', 'failed') or fallback_sms = 'dispatched';
-- The messages that still need their files, and those whose files a carrier may still fetch.
create index messages_files_unsent on messages (workspace_id)
  where attachment_urls <> '{}' and (status in ('pending', 'scheduled', 'sending') or fallback_sms = 'due');
create index messages_files_sent on messages (workspace_id, sent_at) where attachment_urls <> '{}' and sent_at is not null;
-- Messages that are sent as SMS at once.
create index messages_forced on messages (workspace_id, line_id, scheduled_at, arrival)
  where force_fallback and status in ('pending', 'scheduled') and not held;
create index messages_lanes on messages (workspace_id, line_id, is_new, lane, scheduled_at, arrival)
  where status in ('pending', 'scheduled') and not held and not force_fallback;
-- A message also belongs to the contact of its second address: a phone number besides the email address it goes to, or the other
-- way round.
create index messages_second_phone on messages (workspace_id, recipient_phone) where recipient_phone <> address;
create index messages_second_email on messages (workspace_id, recipient_email) where recipient_email <> address;
-- Few messages fail, and the index contains no others: the newest of a line are read without the messages in between.
create index messages_line_failed on messages (workspace_id, line_id, id) where status = 'failed';
create index messages_campaign_failed on messages (workspace_id, campaign_id, id)
  where status = 'failed' and campaign_id is not null;
-- The contacts of a day who got only a fallback SMS.
create index messages_fallback_sent on messages (workspace_id, updated_at)
  where fallback_sms = 'dispatched' and sent_at is null;
-- What the leads of a campaign wait for: one message per lead, because later steps are held until that one is sent.
create index messages_campaign_waiting on messages (workspace_id, campaign_id, line_id, hold_reason, is_new, scheduled_at)
  where campaign_id is not null and status in ('pending', 'scheduled') and (not held or hold_reason = 'personalization');
-- Like the index of failed messages.
create index messages_line_canceled on messages (workspace_id, line_id, id) where status = 'canceled';
create index messages_campaign_canceled on messages (workspace_id, campaign_id, id)
  where status = 'canceled' and campaign_id is not null;
-- The rows that the funnel of a campaign counts, in its order. Without included columns, so that equal entries share their key.
create index messages_funnel on messages (workspace_id, campaign_id, step_index, variant, status, hold_reason, read_at)
  where campaign_id is not null;
call tenant_table('messages');

-- The state machine of a message (domain/message-status.ts shows it): forward only, whatever writes.
create function message_status_moves_forward() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and not (old.status, new.status) in (
    ('pending', 'scheduled'),
    ('pending', 'sending'), ('scheduled', 'sending'), ('sending', 'scheduled'),
    ('pending', 'canceled'), ('scheduled', 'canceled'),
    ('pending', 'failed'), ('scheduled', 'failed'), ('sending', 'failed'),
    ('sending', 'sent'), ('sending', 'delivered'), ('sending', 'fallback'), ('pending', 'fallback'), ('scheduled', 'fallback'),
    ('sent', 'delivered'), ('sent', 'failed'), ('sent', 'fallback')
  ) then
    raise exception 'a message cannot go from % to %', old.status, new.status using errcode = 'check_violation', constraint = 'message_status_moves_forward';
  end if;
  return new;
end $$;
create trigger message_status_moves_forward before update of status on messages
  for each row execute function message_status_moves_forward();

-- A lane consists of messages in a line's queue to which the same pacing rules apply, whoever their contacts are: of one campaign,
-- one window and one place, to new or known contacts. A plan reads only the lanes that may send,
-- however many messages the others have. Recipients in the same zones and state have the same quiet hours, so a plan evaluates them
-- once for all of them. Drips have separate lanes, because quiet hours may apply only to them.
-- Called by all code that puts a message into a queue: intake, the previous step, personalization, a send that was
-- not accepted, a move from another line.
create function message_joins_queue() returns trigger language plpgsql as $$
begin
  new.is_new := coalesce(new.answers_until <= now(), true) and not exists (
    select from public.line_contacts lc
    where lc.workspace_id = new.workspace_id and lc.line_id = new.line_id and lc.address = new.address);
  new.lane := md5(concat_ws('|', coalesce(new.campaign_id::text, ''), coalesce(new.window_timezone, ''),
    coalesce(new.window_start, ''), coalesce(new.window_end, ''), new.window_days::text,
    case when new.source = 'crm-drip' then 'drip' end, new.recipient_zones::text, new.recipient_region));
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
create trigger message_changes_place before update of recipient_zones, recipient_region on messages
  for each row when (new.status in ('pending', 'scheduled') and not new.held)
  execute function message_joins_queue();

-- One row before each call to a carrier. A line's usage is counted from these rows, so it is right after a crash, in any zone and
-- after the zone changes. Attempts are deleted by their keys, which begin with their workspace and time.
create table attempts (
  workspace_id text not null,
  id object_id not null,
  message_id object_id not null,
  line_id object_id not null,
  kind text not null check (kind in ('primary', 'fallback')),
  channel text not null,
  carrier text not null,
  address text not null,
  is_new boolean not null,
  contact_last_sent_at timestamptz, -- before this attempt: restored if it was not sent
  started_at timestamptz not null,
  answer_by timestamptz not null,
  -- `unsendable`: there was no text to send, so the carrier was not called.
  outcome text check (outcome in ('accepted', 'unavailable', 'refused', 'transient', 'unknown', 'not_sent', 'unsendable')),
  reason text,
  carrier_message_id text,
  finished_at timestamptz,
  primary key (workspace_id, id)
) with (fillfactor = 80);
create index attempts_usage on attempts (workspace_id, line_id, started_at) include (is_new)
  where kind = 'primary' and (outcome is null or outcome in ('accepted', 'unknown'));
create index attempts_open on attempts (workspace_id, line_id) where outcome is null;
create index attempts_message on attempts (workspace_id, message_id);
create index attempts_carrier_message on attempts (workspace_id, line_id, carrier_message_id) where carrier_message_id is not null;
-- The attempts that the index of usage omits, for finding how the latest calls for a line ended.
create index attempts_not_sent on attempts (workspace_id, line_id, started_at)
  where kind = 'primary' and outcome in ('transient', 'not_sent', 'refused', 'unavailable');
-- For checking whether the SMS account of a workspace has accepted anything lately.
create index attempts_fallback on attempts (workspace_id, started_at) where kind = 'fallback' and outcome = 'accepted';
call tenant_table('attempts');

-- The queues of lines that are no longer in the workspace. Reads one entry of `messages_unsent` for each queue, however long it is.
create function stranded_queues() returns table (workspace_id text, line_id text) language sql stable as $$
  with recursive queues as (
    (select m.workspace_id, m.line_id from messages m
      where (m.status in ('pending', 'scheduled') or m.fallback_sms = 'due') and m.line_id is not null
      order by m.workspace_id, m.line_id limit 1)
    union all
    select next.* from queues q cross join lateral (
      select m.workspace_id, m.line_id from messages m
      where (m.status in ('pending', 'scheduled') or m.fallback_sms = 'due') and m.line_id is not null
        and (m.workspace_id, m.line_id) > (q.workspace_id, q.line_id)
      order by m.workspace_id, m.line_id limit 1
    ) next
  )
  select q.workspace_id, q.line_id from queues q
  where not exists (select from lines l where l.workspace_id = q.workspace_id and l.id = q.line_id)
$$;

-- Which rule moved a message to which time, for its timeline.
create table message_moves (
  workspace_id text not null references workspaces (id) on delete cascade,
  message_id object_id not null,
  at timestamptz not null default clock_timestamp(),
  moved_from timestamptz not null,
  moved_to timestamptz not null,
  reason text not null,
  -- The former line and the new line; null: only its time moved.
  from_line_id object_id,
  to_line_id object_id,
  rule text, -- of the pool, for example failover:always
  primary key (workspace_id, message_id, at)
);
create index message_moves_age on message_moves (at);
call tenant_table('message_moves');

-- Bulk intake: accepted and committed drips that are not messages yet. The id becomes the message's id.
-- Only one index, because each drip pays for it: the buffer is read in the order of arrival, and by id only in large reads.
create table drip_buffer (
  workspace_id text not null,
  id object_id not null,
  arrival bigint generated always as identity,
  draft jsonb not null, -- a short one (domain/short-draft.ts)
  created_at timestamptz not null default now(),
  primary key (workspace_id, arrival)
);
call tenant_table('drip_buffer');
call intake_table('drip_buffer');

-- Deduplicates drips with the same recipient and body within 60 minutes (specification §4.4 rule 4). Narrow, because
-- one row is written for every drip: the fingerprint, and the data that the response to a duplicate repeats.
create table drip_claims (
  workspace_id text not null,
  fingerprint bytea not null, -- 16 bytes
  message_id bytea not null, -- the 12 bytes of the id
  scheduled_at timestamptz not null,
  jitter_ms int not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, fingerprint)
);
create index drip_claims_age on drip_claims (created_at);
call tenant_table('drip_claims');
call intake_table('drip_claims');

-- Accepts drips of any number of workspaces in one call: claims their fingerprints for 60 minutes, buffers the drips whose
-- fingerprint was free, and wakes the workflows that drain the buffers. Read committed.
--   batch: a list of {n, workspace_id, id, fingerprint, scheduled_at, jitter_ms, draft}. Each fingerprint of a workspace is
--     there once. Ids and fingerprints are in hexadecimal.
--   drainer: the prefix of the workflows' ids, before the workspace.
--   of_workspaces: the workspaces of the drips, separated by commas, for a call that is a separate transaction; null: the
--     transaction has the settings of intake.
--   duplicates: {n, scheduledMs, jitterMs} of drips whose fingerprint was claimed before, with the claimed values; null: none.
--   woken: the workspaces whose workflow would look too late and must be signaled after the commit; null: none.
create function buffer_drips(batch jsonb, drainer text, look_at timestamptz, wake_signal text, of_workspaces text,
  out duplicates json, out woken text[]) language plpgsql as $$
#variable_conflict use_column
declare
  expired timestamptz := now() - interval '60 minutes';
  claimed int;
  buffered int;
  taken int[] := '{}';
  filled text[];
  due text[];
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
  -- What `Wakes` in db/transaction-wakes.ts writes for work that an earlier statement has inserted. In later statements, with
  -- later snapshots: see there how a wake is lost otherwise.
  filled := array(
    select distinct d.workspace_id from jsonb_to_recordset(batch) as d (n int, workspace_id text) where d.n <> all(taken));
  due := array(
    select w.workspace_id from unnest(filled) f (id)
    join workflow_wakes w on w.workspace_id = f.id and w.workflow_id = drainer || f.id
    where w.wake_at <= look_at);
  if due @> filled then return; end if;

  for woke in
    insert into workflow_wakes as w (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by, signal)
    select f.id, drainer || f.id, look_at, look_at + interval '30 seconds', pg_current_xact_id(), pg_current_xact_id(), wake_signal
    from unnest(filled) f (id) where f.id <> all(due)
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
