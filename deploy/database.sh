#!/bin/sh
# Creates the database that an `owner.env` names, and its owner, on the PostgreSQL that `psql` reaches as a superuser. Safe to repeat.
#
#   deploy/database.sh < /etc/linepace/owner.env
set -eu
url=$(sed -n 's/^DATABASE_OWNER_URL=//p')
owner=$(printf '%s' "$url" | sed 's|^[a-z]*://\([^:]*\):.*|\1|')
password=$(printf '%s' "$url" | sed 's|^[a-z]*://[^:]*:\([^@]*\)@.*|\1|')
name=${url##*/}

# The password is no argument of a process.
psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --dbname=postgres <<SQL
select format('create role %I login createrole', '$owner')
where not exists (select from pg_roles where rolname = '$owner') \gexec
alter role "$owner" password '$password';
select format('create database %I owner %I', '$name', '$owner')
where not exists (select from pg_database where datname = '$name') \gexec
SQL
