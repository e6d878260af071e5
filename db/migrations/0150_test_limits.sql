-- Where the reading of a file stops; null: at its end.
alter table lead_imports add column max_rows integer check (max_rows > 0);
