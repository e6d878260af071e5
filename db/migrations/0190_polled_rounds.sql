-- Rounds that worker processes take from their table (`isPolled` in workflows/messages/workflow-ids.ts): until when one of them has the
-- round. It extends that while it works, so that another takes over soon after a crash.
alter table workflow_wakes add column claimed_until timestamptz;

-- When a process last looked for rounds of a kind. If none does, the workflows are signaled.
create table polled_kinds (
  kind text primary key,
  polled_at timestamptz not null
);
call system_table('polled_kinds');
