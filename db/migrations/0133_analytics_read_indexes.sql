-- Their columns begin the new indexes.
drop index messages_created, inbound_messages_received;

-- An index answers alone for pages that a vacuum has seen since they changed: it comes by after 2 rows in 100 instead of
-- 20, else the newest fifth of a large table would be read from its rows.
alter table messages set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
alter table inbound_messages set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
