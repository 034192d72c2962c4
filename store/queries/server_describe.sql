-- What a server says of itself, and whether our schema was begun.
select current_setting('server_version') as server_version,
       current_setting('max_connections')::integer as max_connections,
       (select coalesce(installed_version, default_version)
          from pg_available_extensions
         where name = 'vector') as pgvector,
       to_regclass('schema_migration') is not null as has_schema;
