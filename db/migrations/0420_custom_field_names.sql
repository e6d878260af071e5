-- The names of custom fields that the contacts of a workspace have, or once had: they are limited in number.
create table custom_field_names (
  workspace_id text not null references workspaces (id) on delete cascade,
  name text not null,
  primary key (workspace_id, name)
);
call tenant_table('custom_field_names');
set local app.migrating = 'on';
insert into custom_field_names (workspace_id, name)
select distinct workspace_id, jsonb_object_keys(custom_fields) from leads where custom_fields <> '{}'
on conflict do nothing;
