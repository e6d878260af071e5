-- Billing: who pays at the payment provider, and the invoices of lines. Card numbers never come here.

alter table agencies add column payment_customer_id text;

alter table workspaces
  add column payment_customer_id text, -- of a workspace without an agency; an agency pays for its own
  add column payment_subscription_id text,
  -- When the read of the subscription began that its status comes from: events arrive in any order, and an older
  -- read must not win over a newer one.
  add column subscription_read_at timestamptz not null default '-infinity',
  -- Part of the idempotency key of a change: a declined card is asked anew, a lost answer is not charged twice.
  add column subscription_attempt integer not null default 0,
  -- One change of plan at a time; a crash in the middle of one ends with this.
  add column subscription_busy_until timestamptz not null default '-infinity',
  add column line_overrides jsonb not null default '{}';
create unique index workspaces_payment_subscription on workspaces (payment_subscription_id) where payment_subscription_id is not null;

-- A tenant cannot read agencies; how its own is billed decides over its line requests.
create function current_billing_mode() returns text language sql stable security definer set search_path = public
  return coalesce((select a.billing_mode from agencies a join workspaces w on w.agency_id = a.id where w.id = current_workspace()), 'card');

alter table lines
  add column request_round integer not null default 1,
  add column requested_email text,
  add column requested_area_code text,
  add column requested_country text,
  add column failure_reason text;

-- The state machine of a line request (domain/line-request-state.ts draws it): forward only, whoever writes.
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

-- Only a request that waits for its payment blocks the next (specification §3.1): one at a time.
create unique index lines_awaiting_payment on lines (workspace_id) where provisioning_status = 'awaiting_payment';

-- The invoice of each round of a line request. `opening`, `void_due` and `credit_due` are owed to the provider.
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
