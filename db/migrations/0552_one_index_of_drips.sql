-- Each drip paid for two indexes of the buffer. It is read in the order of arrival, and by id only together with much else.
-- old processes: the numbers are generated, hence unique
create unique index drip_buffer_arrival on drip_buffer (workspace_id, arrival);
-- old processes: insert every id once
alter table drip_buffer drop constraint drip_buffer_pkey,
  add constraint drip_buffer_pkey primary key using index drip_buffer_arrival;
drop index drip_buffer_order;
