-- How many messages of campaigns a person gets, and whether these wait while a member writes with the person.
alter table workspaces
  add column frequency_cap jsonb, -- {messages, days}; null: none
  add column contact_busy boolean not null default true;

-- When a member last wrote to the contact: `answered_at` is also set by programs.
alter table conversations add column member_answered_at timestamptz;

-- The rules about persons were relaxed: what waits because of them is looked at again.
alter table campaigns add column releases_held boolean not null default false;
