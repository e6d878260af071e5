-- Old processes make keys without restrictions, and do not enforce those of new keys.
alter table workspace_keys
  add column scopes text[] not null default '{read,send,draft,manage}',
  add column allowed_ips text[],
  add column mode text not null default 'live' check (mode in ('live', 'test'));
