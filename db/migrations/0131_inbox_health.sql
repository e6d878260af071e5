-- When the mailbox of a line was last read; null: it has none.
alter table line_inboxes add column read_at timestamptz;
-- Since when and why the mailbox cannot be read, and when the team was told.
alter table lines
  add column inbox_failing_since timestamptz,
  add column inbox_failure text,
  add column inbox_notified_at timestamptz;
