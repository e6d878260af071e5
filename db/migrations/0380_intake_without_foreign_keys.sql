-- Each buffered drip paid for two checks that its workspace exists, whose caller was authenticated against it a moment ago.
-- Workspaces are not deleted. What would be left of one is deleted with its time, or waits in the buffer unread.
alter table drip_buffer drop constraint drip_buffer_workspace_id_fkey;
alter table drip_fingerprints drop constraint drip_fingerprints_workspace_id_fkey;
alter table idempotency_keys drop constraint idempotency_keys_workspace_id_fkey;
