-- Contacts whose data is being erased. A row goes when that is done, and with it what it says of the contact.
create table contact_erasures (
  workspace_id text not null references workspaces (id) on delete cascade,
  id object_id not null, -- what has a later id is of a new contact
  lead_ids text[] not null,
  requested_at timestamptz not null default now(),
  events_to text collate "C" not null default '', -- the last event that was looked at
  primary key (workspace_id, id)
);
call tenant_table('contact_erasures');

-- What stands for an erased address, and by what it is known again when the contact opts out afterwards by the link of an
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

-- The opt-outs of erased contacts: whom they are of is found by the hash of an address alone.
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

-- What is left of the reason of a failure: its code. domain/erasure.ts says the same.
create function reason_code(reason text) returns text language sql immutable parallel safe
  return case when reason is not null then coalesce(substring(reason from '(?i)^[a-z_]+$|^\d{3,5}(?![a-z0-9])'), 'erased') end;

-- What an id that names the contact is replaced by. Immutable, as an encoding by its name is: nothing else may change a row of a
-- distributed table.
create function erased_id(id text) returns text language sql immutable parallel safe
  return encode(sha256(convert_to(id, 'UTF8')), 'hex');

-- What is under way at a carrier while its contact is erased brings nothing back, whoever writes.
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
