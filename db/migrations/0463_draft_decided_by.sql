-- Who decided about a draft, as its workflow shows it to operators: `user …`, `key …` or `operator …`.
alter table ai_drafts add column resolved_by text;
