-- Joins what is stored about a contact by several forms of a number. Few rows: most numbers have one form.
insert into opt_outs as o (workspace_id, address, source, created_at)
  select distinct on (workspace_id, contact_key(address)) workspace_id, contact_key(address), source, created_at
  from opt_outs where address <> contact_key(address)
  order by workspace_id, contact_key(address), created_at
  on conflict (workspace_id, address) do update set created_at = least(o.created_at, excluded.created_at);
delete from opt_outs where address <> contact_key(address);

update consents set address = contact_key(address) where address <> contact_key(address);

-- One suspicion of a contact is open at a time: the first.
update opt_out_suspicions s set status = 'dismissed', decided_at = now()
  where status = 'open' and exists (
    select from opt_out_suspicions e
    where e.workspace_id = s.workspace_id and e.status = 'open' and e.id < s.id
      and contact_key(e.address) = contact_key(s.address) and e.address <> s.address);
update opt_out_suspicions set address = contact_key(address) where address <> contact_key(address);

insert into agency_suppressions (agency_id, value, reason, created_by, created_at)
  select agency_id, contact_key(value), reason, created_by, created_at
  from agency_suppressions where value <> contact_key(value)
  on conflict (agency_id, value) do nothing;
delete from agency_suppressions where value <> contact_key(value);

insert into conversations as c (workspace_id, address, line_id, last_outbound_at, last_inbound_at, tags, unanswered, status,
    snoozed_until, assignee_id)
  select distinct on (workspace_id, contact_key(address)) workspace_id, contact_key(address), line_id, last_outbound_at,
    last_inbound_at, tags, unanswered, status, snoozed_until, assignee_id
  from conversations where address <> contact_key(address)
  order by workspace_id, contact_key(address), greatest(last_inbound_at, last_outbound_at) desc nulls last
  on conflict (workspace_id, address) do update set
    line_id = coalesce(c.line_id, excluded.line_id),
    last_outbound_at = greatest(c.last_outbound_at, excluded.last_outbound_at),
    last_inbound_at = greatest(c.last_inbound_at, excluded.last_inbound_at),
    tags = array(select distinct unnest(c.tags || excluded.tags) order by 1),
    unanswered = least(c.unanswered, excluded.unanswered),
    status = case when 'open' in (c.status, excluded.status) then 'open' else c.status end,
    assignee_id = coalesce(c.assignee_id, excluded.assignee_id);
delete from conversations where address <> contact_key(address);

insert into line_contacts as l (workspace_id, line_id, address, since, opened_on)
  select distinct on (workspace_id, line_id, contact_key(address)) workspace_id, line_id, contact_key(address), since, opened_on
  from line_contacts where address <> contact_key(address)
  order by workspace_id, line_id, contact_key(address), since
  on conflict (workspace_id, line_id, address) do update set since = least(l.since, excluded.since);
delete from line_contacts where address <> contact_key(address);

insert into conversation_reads as r (workspace_id, address, user_id, read_at)
  select workspace_id, contact_key(address), user_id, max(read_at)
  from conversation_reads where address <> contact_key(address) group by 1, 2, 3
  on conflict (workspace_id, address, user_id) do update set read_at = greatest(r.read_at, excluded.read_at);
delete from conversation_reads where address <> contact_key(address);

update conversation_notes set address = contact_key(address) where address <> contact_key(address);

-- One draft to a contact is open at a time: the newest.
update ai_drafts d set status = 'superseded', resolved_at = now()
  where status in ('waiting', 'drafted') and exists (
    select from ai_drafts n
    where n.workspace_id = d.workspace_id and n.status in ('waiting', 'drafted') and n.reply_id > d.reply_id
      and contact_key(n.address) = contact_key(d.address) and n.address <> d.address);
update ai_drafts set address = contact_key(address) where address <> contact_key(address);

-- A list contains a contact once: of two leads, the one that has the address under its key.
insert into list_addresses (workspace_id, list_id, address, lead_id)
  select distinct on (workspace_id, list_id, contact_key(address)) workspace_id, list_id, contact_key(address), lead_id
  from list_addresses where address <> contact_key(address)
  order by workspace_id, list_id, contact_key(address), lead_id
  on conflict (workspace_id, address, list_id) do nothing;
update lead_lists l set lead_count = (
    select count(distinct a.lead_id) from list_addresses a
    where a.workspace_id = l.workspace_id and a.list_id = l.id and a.address = contact_key(a.address))
  where exists (
    select from list_addresses a
    where a.workspace_id = l.workspace_id and a.list_id = l.id and a.address <> contact_key(a.address));
delete from list_addresses where address <> contact_key(address);

update messages set address = contact_key(address) where address <> contact_key(address);
update inbound_messages set sender_phone = address, address = contact_key(address) where address <> contact_key(address);
