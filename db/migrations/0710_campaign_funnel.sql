-- Which of the A/B texts of its step a message is.
alter table messages add column variant text check (variant in ('A', 'B', 'C', 'D'));

-- The steps of campaigns that contacts replied to or opted out after: the last step sent before. Once for a message, so
-- that the funnel counts leads.
create table campaign_responses (
  workspace_id text not null references workspaces (id) on delete cascade,
  campaign_id object_id not null,
  message_id object_id not null,
  kind text not null check (kind in ('reply', 'opt_out')),
  step_index integer not null,
  variant text check (variant in ('A', 'B', 'C', 'D')),
  responded_at timestamptz not null,
  primary key (workspace_id, campaign_id, message_id, kind) include (step_index, variant)
);
call tenant_table('campaign_responses');

-- What the funnel of a campaign counts, in its order. Without included columns, equal entries share their key.
create index messages_funnel on messages (workspace_id, campaign_id, step_index, variant, status, hold_reason, read_at)
  where campaign_id is not null;
