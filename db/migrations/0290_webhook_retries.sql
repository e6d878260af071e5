-- Whether failed deliveries are retried, and of what events are delivered; '{}': of all.
alter table webhooks
  add column retries text not null default 'none' check (retries in ('none', 'standard')),
  add column line_ids text[] not null default '{}',
  add column campaign_ids text[] not null default '{}',
  add column tags text[] not null default '{}';

-- The deliveries that are attempted again, apart from the log of deliveries, whose partitions of all days a look would open.
create table webhook_retries (
  workspace_id text not null,
  delivery_id object_id not null,
  webhook_id object_id not null,
  due_at timestamptz not null,
  -- Whether its delivery is pending again, until the attempt has ended.
  is_queued boolean not null default false,
  primary key (workspace_id, delivery_id),
  foreign key (workspace_id, webhook_id) references webhooks (workspace_id, id) on delete cascade
);
create index webhook_retries_due on webhook_retries (workspace_id, webhook_id, due_at);
create index webhook_retries_queued on webhook_retries (workspace_id, delivery_id) where is_queued;
call tenant_table('webhook_retries');
