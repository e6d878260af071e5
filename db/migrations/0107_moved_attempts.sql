-- Moved lines brought the addresses of their former workspace's contacts along, and no erasure finds them. The attempts of the
-- workspace itself belong to its messages.
update attempts a set address = 'erased:' || a.message_id, reason = reason_code(a.reason)
from line_moves v
where a.workspace_id = v.to_workspace_id and a.line_id = v.line_id and a.kind = 'primary'
  -- By id, which begins with the time: there is no index of all attempts by line.
  and a.id >= first_id(v.moved_at - interval '26 hours') and a.id < first_id(v.moved_at + interval '1 minute')
  and not starts_with(a.address, 'erased:')
  and not exists (select from messages m where m.workspace_id = a.workspace_id and m.id = a.message_id);
