-- Who pays for lines, and their invoices. Card numbers never come here.

-- A tenant cannot read agencies, but its own agency's billing mode affects its line requests.
create function current_billing_mode() returns text language sql stable security definer set search_path = public, pg_temp
  begin atomic
    select coalesce((select a.billing_mode from agencies a join workspaces w on w.agency_id = a.id where w.id = current_workspace()), 'card');
  end;
call definer_function('current_billing_mode');

-- The state machine of a line request (domain/line-request-state.ts): forward only, whatever writes.
create function line_request_moves_forward() returns trigger language plpgsql as $$
begin
  if new.provisioning_status <> old.provisioning_status and not (old.provisioning_status, new.provisioning_status) in (
    ('awaiting_payment', 'provisioning'), ('awaiting_payment', 'canceled'),
    ('provisioning', 'active'), ('provisioning', 'failed'),
    ('failed', 'provisioning'), ('failed', 'awaiting_payment')
  ) then
    raise exception 'a line request cannot go from % to %', old.provisioning_status, new.provisioning_status
      using errcode = 'check_violation', constraint = 'line_request_moves_forward';
  end if;
  return new;
end $$;
create trigger line_request_moves_forward before update of provisioning_status on lines
  for each row execute function line_request_moves_forward();

-- The invoice of each round of a line request. `opening`, `void_due` and `credit_due` require a call to the provider.
create table line_invoices (
  workspace_id text not null references workspaces (id) on delete cascade,
  line_id object_id not null,
  round integer not null,
  status text not null check (status in ('opening', 'open', 'paid', 'void_due', 'void', 'credit_due', 'credited')),
  invoice_id text,
  payment_url text,
  -- When the provider was last asked: readers poll, the provider is asked less often.
  checked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, line_id, round)
);
call tenant_table('line_invoices');

-- The payment provider repeats its callbacks: an event seen before changes nothing.
create table payment_events (
  workspace_id text not null references workspaces (id) on delete cascade,
  event_id text not null,
  type text not null,
  received_at timestamptz not null default now(),
  primary key (workspace_id, event_id)
);
create index payment_events_age on payment_events (received_at);
call tenant_table('payment_events');
