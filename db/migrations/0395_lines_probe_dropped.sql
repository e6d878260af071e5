-- Each probe changed it, and with it all other indexes of the line. Once a minute, reading all lines costs less.
drop index lines_probe;
alter table lines set (fillfactor = 80);
