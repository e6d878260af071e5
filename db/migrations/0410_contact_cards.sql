-- What contacts get to know of a line: its name as a file, and when it is shared.
alter table lines add column contact_card jsonb;
alter table lines add column share_contact_card text not null default 'after_first_reply'
  check (share_contact_card in ('never', 'after_first_reply'));
-- When the line shared its card with the contact; null: it has not.
alter table line_contacts add column card_shared_at timestamptz;
