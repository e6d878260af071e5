-- As in 0390: what a campaign writes for each lead that enters, and a line for each contact that it writes to.
set local lock_timeout = '200ms';
lock table workspaces, campaign_leads, conversations, line_contacts in access exclusive mode;
alter table campaign_leads drop constraint campaign_leads_workspace_id_fkey;
alter table conversations drop constraint conversations_workspace_id_fkey;
alter table line_contacts drop constraint line_contacts_workspace_id_fkey;
