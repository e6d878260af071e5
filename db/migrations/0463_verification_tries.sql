-- Messages with wrong codes from the number, which end a verification.
-- old processes: they count none, and let a code be tried until it expires.
alter table verifications add column tries smallint not null default 0;
