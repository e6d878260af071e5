#!/usr/bin/env bash
# Run once, when the cluster is created.
psql --username="$POSTGRES_USER" --set=ON_ERROR_STOP=1 --set=password="$TEMPORAL_DB_PASSWORD" <<'SQL'
create role temporal login password :'password';
create database temporal owner temporal;
create database temporal_visibility owner temporal;
SQL
