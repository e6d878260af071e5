-- Texts of campaigns that were corrected after they were sent. Each version of a text corrects a message once.
create table campaign_corrections (
  workspace_id text not null,
  campaign_id object_id not null,
  message_id object_id not null,
  version integer not null,
  action_id object_id, -- the edit of the message; null: another one was sent in its place
  sent_message_id object_id, -- the message that was sent in its place, also because the edit failed
  template text, -- of the message that is sent if the edit fails
  created_at timestamptz not null default now(),
  primary key (workspace_id, message_id, version),
  foreign key (workspace_id, campaign_id) references campaigns (workspace_id, id) on delete cascade
);
create index campaign_corrections_campaign on campaign_corrections (workspace_id, campaign_id);
create index campaign_corrections_action on campaign_corrections (workspace_id, action_id) where action_id is not null;
create index campaign_corrections_sent on campaign_corrections (workspace_id, sent_message_id) where sent_message_id is not null;
call tenant_table('campaign_corrections');
