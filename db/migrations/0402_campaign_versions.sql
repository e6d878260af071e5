-- The steps of a campaign can change while it runs: each change makes the next version.
alter table campaigns
  add column version integer not null default 1,
  -- Since when messages of the version before, and leads that wait at steps, are brought up to date; null: all are.
  add column revised_at timestamptz;

-- The version whose text a message of a campaign has; null: the first.
alter table messages add column campaign_version integer;
