-- Whom the answer to an attempt is about, if that is known: the line, so that its other messages would fare no better, or the recipient.
alter table attempts add column about text check (about in ('line', 'recipient'));
-- Since when the line sends nothing because its carrier takes nothing, whatever its health; why its last check failed, null if it
-- succeeded.
alter table lines add column blocked_at timestamptz, add column health_reason text;
-- Why the line could not send, unless its attempt says so.
alter table line_holds add column error text;
