-- `position` counts the turns of iMessage lines. Another channel's turns would skip some of its lines each time.
alter table line_rotation
  add column sms_position bigint not null default 0,
  add column email_position bigint not null default 0;
