#!/bin/sh
# The Postgres image runs this script at its first start. The script makes the login of Memex. The
# login is not a superuser, so that row-level security applies to it. Only a superuser may install
# the extension for vectors.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$MEMEX_DB_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
create role memex login createrole password :'password';
alter database memex owner to memex;
create extension if not exists vector;
SQL
