-- Who recorded a consent, as the audit log names them. null: before this was kept, or the contact themselves.
alter table consents add column recorded_by text;
