-- Another version of a draft that somebody asks for. The row has the newest; the former ones are kept.
alter table ai_drafts
  add column version smallint not null default 1 check (version between 1 and 5),
  add column hint text, -- with which somebody asked for this version
  add column former_versions jsonb not null default '[]', -- [{version, draft, confidence, hint}], oldest first
  add column retry_at timestamptz, -- another version was asked for then, and is not written yet
  add column retry_hint text,
  add column retry_error text; -- why the last one that was asked for was not written
-- old processes: they neither read nor write these columns; a draft that they write is the first version.
