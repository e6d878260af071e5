-- What is in the queues already finds its lane as what joins them does.
with queued as materialized (
  select m.workspace_id, m.id,
    coalesce(m.answers_until <= now(), true) and lc.address is null is_new,
    md5(concat_ws('|', coalesce(m.campaign_id::text, ''), coalesce(m.window_timezone, ''),
      coalesce(m.window_start, ''), coalesce(m.window_end, ''), m.window_days::text))::uuid lane
  from messages m
  left join line_contacts lc on lc.workspace_id = m.workspace_id and lc.line_id = m.line_id and lc.address = m.address
  where m.status in ('pending', 'scheduled') and not m.held and m.lane is null
  order by m.id for no key update of m
)
update messages m set is_new = q.is_new, lane = q.lane
from queued q where m.workspace_id = q.workspace_id and m.id = q.id;
