-- The address by which a contact is known: one for all forms of a phone number. domain/contact-key.ts does the same.
create function contact_key(address text) returns text language sql immutable parallel safe
  return case when address !~ '^\+(5[245]|22[59]|237|84|972)' then address
    when address ~ '^\+521\d{10}$' then '+52' || substr(address, 5)
    when address ~ '^\+54[1-3]\d{9}$' then '+549' || substr(address, 4)
    when address ~ '^\+55[1-9]{2}[6-9]\d{7}$' then substr(address, 1, 5) || '9' || substr(address, 6)
    when address ~ '^\+225[04-9][0-3]\d{6}$' then '+22501' || substr(address, 5)
    when address ~ '^\+225[04-9][4-6]\d{6}$' then '+22505' || substr(address, 5)
    when address ~ '^\+225[04-9][7-9]\d{6}$' then '+22507' || substr(address, 5)
    when address ~ '^\+2252\d8\d{5}$' then '+22521' || substr(address, 5)
    when address ~ '^\+225[23]\d0\d{5}$' then '+22525' || substr(address, 5)
    when address ~ '^\+225[23]\d{7}$' then '+22527' || substr(address, 5)
    when address ~ '^\+229[2-9]\d{7}$' then '+22901' || substr(address, 5)
    when address ~ '^\+237[579]\d{7}$' then '+2376' || substr(address, 5)
    when address ~ '^\+8416[2-9]\d{7}$' then '+843' || substr(address, 6)
    when address ~ '^\+841\d{9}$' then coalesce('+84' || case substr(address, 4, 3)
      when '120' then '70' when '121' then '79' when '122' then '77' when '126' then '76' when '128' then '78'
      when '123' then '83' when '124' then '84' when '125' then '85' when '127' then '81' when '129' then '82'
      when '186' then '56' when '188' then '58' when '199' then '59' end || substr(address, 7), address)
    when address ~ '^\+9725[69]\d{7}$' then '+970' || substr(address, 5)
    else address end;

create function contact_keys(addresses text[]) returns text[] language sql immutable parallel safe
  return array(select distinct contact_key(a.address) from unnest(addresses) as a (address));

-- The number of the contact as it was written, if `address` is another form of it.
alter table inbound_messages add column sender_phone text;

-- Processes of the previous release store numbers as they were written.
create function store_contact_key() returns trigger language plpgsql as $$
begin
  new.address := contact_key(new.address);
  return new;
end $$;
create function store_suppressed_key() returns trigger language plpgsql as $$
begin
  new.value := contact_key(new.value);
  return new;
end $$;
-- old processes: their writes stay valid, and are found by the processes of this release.
create trigger contact_key before insert on opt_outs for each row
  when (new.address <> contact_key(new.address)) execute function store_contact_key();
-- old processes: as above.
create trigger contact_key before insert on consents for each row
  when (new.address <> contact_key(new.address)) execute function store_contact_key();
-- old processes: as above.
create trigger contact_key before insert on opt_out_suspicions for each row
  when (new.address <> contact_key(new.address)) execute function store_contact_key();
-- old processes: as above.
create trigger contact_key before insert on conversations for each row
  when (new.address <> contact_key(new.address)) execute function store_contact_key();
-- old processes: as above.
create trigger contact_key before insert on line_contacts for each row
  when (new.address <> contact_key(new.address)) execute function store_contact_key();
-- old processes: as above.
create trigger contact_key before insert on conversation_notes for each row
  when (new.address <> contact_key(new.address)) execute function store_contact_key();
-- old processes: as above.
create trigger contact_key before insert on list_addresses for each row
  when (new.address <> contact_key(new.address)) execute function store_contact_key();
-- old processes: as above.
create trigger contact_key before insert on messages for each row
  when (new.address <> contact_key(new.address)) execute function store_contact_key();
-- old processes: as above.
create trigger contact_key before insert on inbound_messages for each row
  when (new.address <> contact_key(new.address)) execute function store_contact_key();
-- old processes: as above.
create trigger contact_key before insert on ai_drafts for each row
  when (new.address <> contact_key(new.address)) execute function store_contact_key();
-- old processes: as above.
create trigger suppressed_key before insert on agency_suppressions for each row
  when (new.value <> contact_key(new.value)) execute function store_suppressed_key();
