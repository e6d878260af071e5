-- PostgreSQL archives its log with pgBackRest, at least every minute: the most that is lost with the disk. Requires a restart.
alter system set archive_mode = on;
alter system set archive_command = 'pgbackrest --stanza=linepace archive-push %p';
alter system set archive_timeout = '60s';
