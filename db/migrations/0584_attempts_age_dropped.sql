-- old processes: they delete old attempts without it, if slowly, and are soon replaced.
-- Attempts are deleted by their keys, which begin with their workspace and time. This index kept for each range of pages the
-- earliest time that was ever in it: once pages were reused, nearly every range might have had expired attempts.
drop index attempts_age;
