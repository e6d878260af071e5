-- Contacts whose data is being erased. The row, with its data about the contact, is deleted when that is done.
create table contact_erasures (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null, -- data with a later id belongs to a new contact
  lead_ids text[] not null,
  requested_at timestamptz not null default now(),
  events_to text collate "C" not null default '', -- the last event that was examined
  primary key (workspace_id, id)
);
call tenant_table('contact_erasures');

-- The pseudonym of an erased address, and the hash by which it is recognized when the contact later opts out through the link of an
-- earlier email. Kept for 60 days.
create table erased_addresses (
  workspace_id text not null references workspaces (id) on delete cascade,
  pseudonym text not null,
  erasure_id object_id not null,
  address text, -- until the erasure is done
  address_hash text not null,
  requested_at timestamptz not null default now(),
  primary key (workspace_id, pseudonym)
);
create index erased_addresses_pending on erased_addresses (workspace_id, address) where address is not null;
create index erased_addresses_age on erased_addresses (requested_at);
call tenant_table('erased_addresses');

-- The opt-outs of erased contacts, which are found only by the hash of an address.
create table erased_opt_outs (
  workspace_id text not null references workspaces (id) on delete cascade,
  address_hash text not null,
  source text not null,
  created_at timestamptz not null,
  primary key (workspace_id, address_hash)
);
call tenant_table('erased_opt_outs');

-- The key of these hashes, encrypted.
create table hash_keys (
  id text primary key,
  key_sealed text not null,
  created_at timestamptz not null default now()
);
call system_table('hash_keys');

-- The part of a failure's reason that is kept: its code. domain/erasure.ts does the same.
create function reason_code(reason text) returns text language sql immutable parallel safe
  return case when reason is not null then coalesce(substring(reason from '(?i)^[a-z_]+$|^\d{3,5}(?![a-z0-9])'), 'erased') end;

-- The replacement of an id that names the contact. Immutable, like an encoding by its name: nothing else may change a row of a
-- distributed table.
create function erased_id(id text) returns text language sql immutable parallel safe
  return encode(sha256(convert_to(id, 'UTF8')), 'hex');

-- A message that is at its carrier while its contact is erased restores no erased data, whatever writes.
create function erased_message_stays() returns trigger language plpgsql as $$
begin
  new.address := old.address;
  new.recipient_phone := null;
  new.recipient_email := null;
  new.recipient_name := null;
  new.body := '';
  new.sent_text := null;
  new.subject := null;
  new.attachment_urls := '{}';
  new.attachment_names := '{}';
  new.sms_fallback_message := null;
  new.send_fallback_sms_on_failed := false;
  new.sms_fallback_enabled := false;
  new.crm := '{}';
  new.correlation_id := null;
  new.trace_id := null;
  new.batch_id := null;
  new.reactions := '[]';
  new.error_message := reason_code(new.error_message);
  return new;
end $$;
create trigger erased_message_stays before update on messages
  for each row when (starts_with(old.address, 'erased:')) execute function erased_message_stays();

create function erased_attempt_stays() returns trigger language plpgsql as $$
begin
  new.address := old.address;
  new.reason := reason_code(new.reason);
  return new;
end $$;
create trigger erased_attempt_stays before update on attempts
  for each row when (starts_with(old.address, 'erased:')) execute function erased_attempt_stays();
