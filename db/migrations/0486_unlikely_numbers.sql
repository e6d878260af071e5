-- Leads that an import saved with a number that its country does not have.
alter table lead_imports add column unlikely_numbers integer not null default 0;
