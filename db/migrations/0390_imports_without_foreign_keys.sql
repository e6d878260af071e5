-- Each lead, and each of its addresses, paid for a check that its workspace exists: a fifth of what PostgreSQL spends on an
-- import. Workspaces are not deleted, and row-level security accepts rows of the transaction's workspace only. The foreign
-- key to the list stays: a list can be deleted while another one that is deleted hands leads over to it.
-- Locks are requested for less than the second after which PostgreSQL looks for a deadlock: it would end the transaction of
-- a process, and this one can be repeated.
set local lock_timeout = '300ms';
lock table workspaces, leads, list_addresses in access exclusive mode;
alter table leads drop constraint leads_workspace_id_fkey;
alter table list_addresses drop constraint list_addresses_workspace_id_fkey;
