-- How the carrier has sent a message, if it says so; otherwise as the channel says.
alter table messages add column transport text;
-- old processes: they neither read nor write it.
