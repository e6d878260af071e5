-- Whether what happens with a person whom the CRM does not know makes a contact there.
alter table crm_connections add column create_contacts boolean not null default false;
