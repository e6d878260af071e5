-- The autopilot: a copilot that may send its drafts by itself, within limits.
-- old processes: they know neither the mode nor the columns. While one writes drafts, the mode `autopilot` is off for it, and its drafts wait for a
-- person. A conversation that it closes is not open to the autopilot again.
alter table knowledge_bases
  drop constraint knowledge_bases_mode_check,
  add constraint knowledge_bases_mode_check check (mode in ('off', 'copilot', 'autopilot')),
  add column autopilot jsonb not null default '{}', -- its limits; what is missing has its default
  add column disclosure text not null default ''; -- sent once to each contact, before the first text of the autopilot
-- Why the autopilot left a draft to a person.
alter table ai_drafts add column held_back_by text;
-- When a conversation was last closed. From then on the autopilot may answer in it again.
alter table conversations add column closed_at timestamptz;
