-- What a server says of itself, and which parts of our schema were begun.
select current_setting('server_version') as server_version,
       pg_database_size(current_database()) as database_bytes,
       current_setting('max_connections')::integer as max_connections,
       (select coalesce(installed_version, default_version)
          from pg_available_extensions
         where name = 'vector') as pgvector,
       exists (select from pg_extension where extname = 'vector') as pgvector_is_installed,
       to_regclass('schema_migration') is not null as has_schema,
       to_regclass('jobs_migration') is not null as has_jobs,
       to_regclass('vectors_migration') is not null as has_vectors;
