-- The one-time code that sets up an installation without an owner, as a hash. There is one at most: a new one replaces it.
create table setup_codes (
  is_only boolean primary key default true check (is_only),
  hash text not null,
  expires_at timestamptz not null
);
call system_table('setup_codes');

-- Nobody pays in an agency or a workspace of the billing mode `none`. The mode of a workspace counts if it has no agency.
alter table agencies drop constraint agencies_billing_mode_check;
-- old processes: their billing modes are still allowed.
alter table agencies add constraint agencies_billing_mode_check check (billing_mode in ('card', 'invoice', 'none'));
alter table workspaces add column billing_mode text not null default 'card' check (billing_mode in ('card', 'none'));

-- A tenant cannot read agencies, but who pays affects its line requests and whether it sends. Bulk intake asks as well, for the one
-- workspace of its transaction. The function belongs to `linepace_definer`.
grant linepace_definer to current_user;
create or replace function current_billing_mode() returns text language sql stable security definer set search_path = public, pg_temp
  begin atomic
    select coalesce(a.billing_mode, w.billing_mode)
    from workspaces w left join agencies a on a.id = w.agency_id where w.id = coalesce(current_workspace(), (intake_workspaces())[1]);
  end;
grant execute on function current_billing_mode to linepace_system;
-- old processes: it was granted two statements ago.
revoke linepace_definer from current_user;
