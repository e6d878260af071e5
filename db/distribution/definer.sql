-- Nodes connect to one another as the role whose function reads. It has no password, so nobody else can.
alter role linepace_definer login;
