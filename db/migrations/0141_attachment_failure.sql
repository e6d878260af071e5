-- Why a file was given up.
alter table attachments add column failure text;
