-- As in 0390: messages and the attempts to send them.
set local lock_timeout = '300ms';
lock table workspaces, messages, attempts in access exclusive mode;
alter table messages drop constraint messages_workspace_id_fkey;
alter table attempts drop constraint attempts_workspace_id_fkey;
