#!/bin/sh
# Run by the image of Postgres at its first start: the login that Memex uses, which is no superuser, so that
# row-level security binds it. Vectors are an extension that only a superuser may install.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$MEMEX_DB_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
create role memex login createrole password :'password';
alter database memex owner to memex;
create extension if not exists vector;
SQL
