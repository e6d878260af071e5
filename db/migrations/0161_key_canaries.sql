-- What the keys of the processes have encrypted and signed, so that a process finds out whether it has the right ones.
create table key_canaries (
  kind text primary key check (kind in ('encryption', 'signing')),
  value text not null,
  made_at timestamptz not null default now()
);
call system_table('key_canaries');
