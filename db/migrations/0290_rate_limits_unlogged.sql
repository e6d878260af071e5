-- Counts of a minute: not worth a wait for the disk at each request. A crash of the server resets them.
alter table rate_limits set unlogged;
