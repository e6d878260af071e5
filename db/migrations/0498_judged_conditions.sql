-- The conditions that decided, of which `why` is the text: [{branch, condition, holds}]. Empty for what was decided before.
alter table campaign_decisions add column judged jsonb not null default '[]';
alter table rule_runs add column judged jsonb not null default '[]';
