alter table leads add column tags text[] not null default '{}';
