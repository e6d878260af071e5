-- When and why a line could not send, for the timelines of the messages that waited for it. Its pacer adds a hold when it
-- finds one and ends it when it is over; an operator who pauses the line adds it with the pause.
create table line_holds (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  began_at timestamptz not null,
  ended_at timestamptz,
  reason text not null,
  by_name text, -- the operator
  note text, -- the operator's reason
  attempt_id object_id, -- the attempt that the carrier did not take
  primary key (workspace_id, line_id, began_at)
);
create index line_holds_age on line_holds using brin (ended_at);
call tenant_table('line_holds');

-- The reason of the hold that has not ended, so that a pacer that finds the same reads and writes none.
alter table lines add column recorded_hold text;
