-- When work that no request waits for was last done: the sweep, by workers, and the backup, by whatever makes it.
create table recorded_runs (
  run text primary key check (run in ('sweep', 'backup')),
  completed_at timestamptz not null
);
comment on table recorded_runs is 'When the sweep and the backup were last completed';
grant select, insert, update on recorded_runs to linepace_system;
