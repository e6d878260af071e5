-- The namespaces of Temporal in which the workflows have run, by Temporal's own ids: in a new one, all are to be started.
create table temporal_namespaces (
  id text primary key,
  first_seen_at timestamptz not null default now()
);
call system_table('temporal_namespaces');
