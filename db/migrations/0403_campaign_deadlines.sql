-- By when a campaign is to be finished, and whether the forecast said last that it will be late.
alter table campaigns
  add column finish_by timestamptz,
  add column is_late boolean not null default false,
  add column deadline_checked_at timestamptz;
