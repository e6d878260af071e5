-- Functions that run with the rights of their owner look into temporary tables last, where others could shadow theirs, and
-- the processes' logins make none.
grant linepace_definer to current_user; -- until the end of this file
set local role linepace_definer;
alter function current_team() set search_path = public, pg_temp;
alter function current_billing_mode() set search_path = public, pg_temp;
reset role;
-- old processes: have another login than the owner, who loses this right again
revoke linepace_definer from current_user;

do $$ begin
  execute format('revoke temporary on database %I from public', current_database());
end $$;
