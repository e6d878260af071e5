-- What operators ask of a line (workflows/messages/updates.ts): that it sends nothing from `paused_at` on, and which
-- messages it sends before all others, whatever its gaps.
alter table lines
  add column paused_at timestamptz,
  add column send_now text[] not null default '{}';
