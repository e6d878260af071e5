-- A webhook is deleted at once, however many deliveries it has had: they are out of sight without it, and go with age.
alter table webhook_deliveries drop constraint webhook_deliveries_workspace_id_webhook_id_fkey;
