-- The order of the locks is that of the processes: a workspace before what is in it.
lock table workspaces in share row exclusive mode;
alter table webhook_deliveries rename to webhook_deliveries_before;
alter index webhook_deliveries_pkey rename to webhook_deliveries_before_pkey;
alter index webhook_deliveries_open rename to webhook_deliveries_before_open;
alter index webhook_deliveries_log rename to webhook_deliveries_before_log;
drop index webhook_deliveries_age;

create table webhook_deliveries (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  webhook_id object_id not null,
  event_id object_id not null,
  event text not null,
  status text not null default 'pending' constraint webhook_deliveries_status_check check (status in ('pending', 'sending', 'done')),
  is_replay_of object_id,
  success boolean,
  response_status integer,
  error text,
  latency_ms integer,
  attempt_count smallint not null default 0,
  claimed_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
) partition by range (id);
create index webhook_deliveries_open on webhook_deliveries (workspace_id, webhook_id, id) where status <> 'done';
create index webhook_deliveries_log on webhook_deliveries (workspace_id, webhook_id, id desc);
call tenant_table('webhook_deliveries');

-- Partitions are reached through their table only.
revoke all on webhook_deliveries_before from linepace_tenant, linepace_system;
do $$
begin
  execute format('alter table webhook_deliveries attach partition webhook_deliveries_before for values from (minvalue) to (%L)',
    (select substring(pg_get_constraintdef(oid) from '[0-9a-f]{24}') from pg_constraint where conname = 'webhook_deliveries_bounded'));
end $$;
alter table webhook_deliveries_before drop constraint webhook_deliveries_bounded;
create table webhook_deliveries_rest partition of webhook_deliveries default;
