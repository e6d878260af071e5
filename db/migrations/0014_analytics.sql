-- Daily and hourly metrics, so that analytics of millions of messages are read from thousands of rows (docs/analytics.md).

-- The state of a workspace's counts.
create table analytics_progress (
  workspace_id text primary key references workspaces (id) on delete cascade,
  time_zone text not null, -- of the days
  counted_to text not null default '', -- until all contacts are counted: those up to this address are
  is_complete boolean not null default false -- all contacts are
);
call tenant_table('analytics_progress');

-- For each metric and day: how many contacts had it, by the previous day on which they had it. The contacts of a range
-- of days are the ones whose day is in it and whose previous day is before it.
create table analytics_days (
  workspace_id text not null,
  subject_id text not null, -- a line, a campaign, a user, or the workspace
  day date not null,
  metric text not null check (metric in ('sent', 'fallback', 'failed', 'replied', 'answered', 'positive')),
  previous_day date not null, -- '-infinity': none; always for metrics that count only messages.
  contacts integer not null,
  messages integer not null, -- of the day
  primary key (workspace_id, subject_id, day, metric, previous_day)
) with (fillfactor = 90);
call tenant_table('analytics_days');

-- Hourly metrics of the workspace, for series (docs/analytics.md).
create table analytics_hours (
  workspace_id text not null,
  hour timestamptz not null, -- in which it starts, in the time zone of `analytics_progress`
  metric text not null check (metric in ('sent', 'fallback', 'failed', 'replied', 'answered', 'positive')),
  contacts integer not null,
  messages integer not null,
  primary key (workspace_id, hour, metric)
) with (fillfactor = 90);
call tenant_table('analytics_hours');

-- Changes since the last count. Written with the message, later added to the days, and until then added by every reader. Vacuum would lock the
-- table to return space that the next messages need again.
create table analytics_changes (
  workspace_id text not null,
  address text not null,
  number bigint generated always as identity,
  at timestamptz not null,
  line_id text,
  campaign_id text,
  user_id text,
  metric text not null,
  change smallint not null, -- 1 or -1
  primary key (workspace_id, address, number)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, vacuum_truncate = off);
call tenant_table('analytics_changes');

-- domain/metrics.ts says the same.
create function is_positive(tags text[]) returns boolean language sql immutable parallel safe
  return exists (select from unnest(tags) tag where lower(tag) in ('interested', 'to respond', 'to-answer', 'to_answer'));

-- The metrics of a message.
create function message_metrics(status text, fallback_sms text) returns text[] language sql immutable parallel safe
  return case when status in ('sent', 'delivered') then '{sent}'::text[] when status = 'failed' then '{failed}' else '{}' end
    || case when status = 'fallback' or fallback_sms = 'dispatched' then '{fallback}'::text[] else '{}' end;

-- The metrics of a reply.
create function reply_metrics(auto_reply boolean) returns text[] language sql immutable parallel safe
  return case when auto_reply then '{replied}'::text[] else '{replied,answered}' end;

create function note_message_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and (old.status in ('sent', 'delivered', 'fallback', 'failed') or old.fallback_sms = 'dispatched') then
    insert into analytics_changes (workspace_id, address, at, line_id, campaign_id, user_id, metric, change)
    select old.workspace_id, old.address, old.created_at, old.line_id, old.campaign_id, old.created_by_user_id, metric, -1
    from unnest(message_metrics(old.status, old.fallback_sms)) metric;
  end if;
  insert into analytics_changes (workspace_id, address, at, line_id, campaign_id, user_id, metric, change)
  select new.workspace_id, new.address, new.created_at, new.line_id, new.campaign_id, new.created_by_user_id, metric, 1
  from unnest(message_metrics(new.status, new.fallback_sms)) metric;
  return null;
end $$;
create trigger note_counted_message after insert on messages for each row
  when (new.status in ('sent', 'delivered', 'fallback', 'failed') or new.fallback_sms = 'dispatched')
  execute function note_message_change();
-- Most updates change nothing that is counted, for example `sent` to `delivered`.
create trigger note_message_change after update of status, fallback_sms, address, line_id, campaign_id on messages for each row
  when (
    (old.status in ('sent', 'delivered'), old.status = 'failed', old.status = 'fallback' or old.fallback_sms is not distinct from 'dispatched')
      is distinct from
    (new.status in ('sent', 'delivered'), new.status = 'failed', new.status = 'fallback' or new.fallback_sms is not distinct from 'dispatched')
    or (new.status in ('sent', 'delivered', 'fallback', 'failed') or new.fallback_sms = 'dispatched')
      and (old.address, old.line_id, old.campaign_id) is distinct from (new.address, new.line_id, new.campaign_id))
  execute function note_message_change();

-- A connection keeps the plan of the function, and one made while `messages` was small would read all of it for each reply.
create function note_reply_change() returns trigger language plpgsql set enable_seqscan = off as $$
declare
  author text;
begin
  if tg_op = 'UPDATE' then
    select created_by_user_id into author from messages where workspace_id = old.workspace_id and id = old.original_message_id;
    insert into analytics_changes (workspace_id, address, at, line_id, campaign_id, user_id, metric, change)
    select old.workspace_id, old.address, old.received_at, old.line_id, old.campaign_id, author, metric, -1
    from unnest(reply_metrics(old.auto_reply)) metric;
  end if;
  select created_by_user_id into author from messages where workspace_id = new.workspace_id and id = new.original_message_id;
  insert into analytics_changes (workspace_id, address, at, line_id, campaign_id, user_id, metric, change)
  select new.workspace_id, new.address, new.received_at, new.line_id, new.campaign_id, author, metric, 1
  from unnest(reply_metrics(new.auto_reply)) metric;
  return null;
end $$;
create trigger note_reply after insert on inbound_messages for each row execute function note_reply_change();
create trigger note_reply_change after update of address, received_at, line_id, campaign_id, original_message_id, auto_reply
  on inbound_messages for each row
  when ((old.address, old.received_at, old.line_id, old.campaign_id, old.original_message_id, old.auto_reply)
    is distinct from (new.address, new.received_at, new.line_id, new.campaign_id, new.original_message_id, new.auto_reply))
  execute function note_reply_change();

create function note_mood_change() returns trigger language plpgsql as $$
begin
  insert into analytics_changes (workspace_id, address, at, metric, change)
  select c.workspace_id, c.address, now(), 'positive', c.change
  from (values (old.workspace_id, old.address, old.tags, -1), (new.workspace_id, new.address, new.tags, 1)) c (workspace_id, address, tags, change)
  where is_positive(c.tags);
  return null;
end $$;
create trigger note_tagged_conversation after insert on conversations for each row
  when (new.tags <> '{}') execute function note_mood_change();
create trigger note_mood_change after update of tags, address on conversations for each row
  when ((old.tags, old.address) is distinct from (new.tags, new.address)) execute function note_mood_change();
create trigger note_deleted_conversation after delete on conversations for each row
  when (old.tags <> '{}') execute function note_mood_change();
