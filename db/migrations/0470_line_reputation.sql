-- What a line's reputation is judged by, for each line and UTC day (domain/line-signals.ts). Without foreign keys, like
-- messages: it is written at the end of transactions that must not wait for a workspace or a line.
create table line_signals (
  workspace_id text not null,
  line_id object_id not null,
  day date not null,
  sent integer not null default 0,
  opened integer not null default 0,
  linked integer not null default 0,
  approached integer not null default 0,
  silent integer not null default 0,
  revived integer not null default 0,
  answered integer not null default 0,
  received integer not null default 0,
  undelivered integer not null default 0,
  failed integer not null default 0,
  optouts integer not null default 0,
  complained integer not null default 0,
  bounced integer not null default 0,
  primary key (workspace_id, line_id, day)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index line_signals_day on line_signals (day);
call tenant_table('line_signals');

-- The last judgement, and what the owner decided about it. No time of a check: not judged yet.
alter table lines
  add column reputation_state text not null default 'new',
  add column reputation_score smallint not null default 100,
  add column reputation_since timestamptz,
  add column reputation_checked_at timestamptz,
  add column reputation_rests_until timestamptz, -- set while critical
  add column reputation_policy text, -- null: the workspace's
  add column reputation_override_until timestamptz,
  add column reputation_override_reason text;
alter table workspaces add column reputation_policy text not null default 'protect';

-- Messages in a row that the contact has not answered, from any line.
alter table conversations add column unanswered integer not null default 0;
-- The UTC day on which the line opened the conversation, until the contact answers; null: it did not, or they have.
alter table line_contacts add column opened_on date;
