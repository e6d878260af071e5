-- Who records the consents of the file, and whether they may have been given before the day of the import.
alter table lead_imports
  add column recorded_by text,
  add column backdates boolean not null default true;
