-- The lists of messages of BlueBubbles servers are polled like mailboxes, because a server reports each message once, also while nobody
-- can receive it. Reading starts a little before the upgrade, so that what came during it is found.
insert into line_inboxes (workspace_id, line_id, position)
select l.workspace_id, l.id, start.ms || '-' || start.ms
from lines l, (select (extract(epoch from now() - interval '1 hour') * 1000)::bigint ms) start
where l.carrier = 'bluebubbles'
on conflict do nothing;
insert into workflow_wakes (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by, signal)
select l.workspace_id, 'mailbox-reader:' || l.id, now(), now(), pg_current_xact_id(), pg_current_xact_id(), 'connected'
from lines l where l.carrier = 'bluebubbles'
on conflict do nothing;
