-- Who consented to messages, and who withdrew it: a ledger. Rows are only added; the latest of an address and channel counts.
create table consents (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null,
  address text not null,
  channel text not null check (channel in ('imessage', 'sms', 'email', 'any')),
  status text not null check (status in ('granted', 'revoked')),
  source text not null check (source in ('form', 'import', 'keyword', 'verbal', 'api')),
  evidence text,
  at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create index consents_latest on consents (workspace_id, address, at, id);
call tenant_table('consents');
revoke update, delete on consents from linepace_tenant;
revoke update on consents from linepace_system;

-- Only the erasure of a contact removes what the ledger says of it.
create function erase_consents(of_addresses text[]) returns void
  language sql security definer set search_path = public, pg_temp
  begin atomic
    delete from consents where workspace_id = current_workspace() and address = any(of_addresses);
  end;
grant select, delete on consents to linepace_definer;
create policy definer on consents to linepace_definer using (true);
grant linepace_definer to current_user; -- until the end of this file
grant create on schema public to linepace_definer;
alter function erase_consents owner to linepace_definer;
-- old processes: have another login than the owner, who loses these rights again
revoke create on schema public from linepace_definer;
-- old processes: never call it
revoke execute on function erase_consents from public;
grant execute on function erase_consents to linepace_tenant;
-- old processes: have another login than the owner
revoke linepace_definer from current_user;

alter table campaigns add column require_consent boolean not null default false;

-- One more reason. Not validated, because all rows have one of the reasons before.
alter table campaign_leads drop constraint campaign_leads_stop_reason_check;
-- old processes: write only the reasons before
alter table campaign_leads add constraint campaign_leads_stop_reason_check
  check (stop_reason in ('reply', 'opt_out', 'failed', 'no_address', 'no_consent', 'removed')) not valid;
