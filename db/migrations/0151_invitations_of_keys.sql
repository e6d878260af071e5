-- The key that invited. Its open invitations end with it.
alter table invitations add column invited_by_key_id text;
