-- Until when the messages of a line are held, as its pacer last decided: all of them, and those to contacts to whom the line
-- has never written. A message that is due before brings the pacer's next look forward to that time only. The hold counts
-- while `held_for` is the last request: whatever asks for a look otherwise, in this release or the one before, ends it.
alter table workflow_wakes
  add column held_until timestamptz,
  add column held_new_until timestamptz,
  add column held_for xid8 not null default '0';
