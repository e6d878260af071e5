-- The beginning of what an endpoint answered to a delivery that failed, for whoever mends it.
alter table webhook_deliveries add column response_body text;
