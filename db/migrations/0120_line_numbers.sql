-- The phone numbers that a carrier allocates to lines in the account of the operator, who pays for them. Recorded before a number is
-- bought, so that a purchase whose response was lost is found again, and kept until the number is released: longer than its line.
create table line_numbers (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  carrier text not null,
  number text not null,
  chosen_at timestamptz not null default now(),
  primary key (workspace_id, line_id)
);
call tenant_table('line_numbers');
