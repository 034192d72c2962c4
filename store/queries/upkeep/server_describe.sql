-- What a server says of itself, and which parts of our schema were begun.
select current_setting('server_version') as server_version,
       pg_database_size(current_database()) as database_bytes,
       current_setting('max_connections')::integer as max_connections,
       (select coalesce(installed_version, default_version)
          from pg_available_extensions
         where name = 'vector') as pgvector,
       exists (select from pg_extension where extname = 'vector') as pgvector_is_installed,
       array(select case when rolname = session_user then power else power || ' by ' || rolname end
               from pg_roles
              cross join lateral (
                     values ('superuser', rolsuper),
                            ('bypassrls', rolbypassrls),
                            ('server', rolname in ('pg_read_server_files', 'pg_write_server_files',
                                                   'pg_execute_server_program'))) as had (power, is_had)
              where is_had
                and (rolname = session_user
                     or (pg_has_role(session_user, oid, 'member')  -- a superuser is taken for a member of all
                         and not exists (select from pg_roles where rolname = session_user and rolsuper)))
              order by 1) as powers,
       array(select relname::text
               from pg_class
              where relnamespace = (select relnamespace from pg_class where oid = to_regclass('schema_migration'))
                and exists (select from pg_policy where polrelid = pg_class.oid)
                and not (relrowsecurity and relforcerowsecurity)
              order by 1) as unforced_tables,
       (select datcollversion
          from pg_database
         where datname = current_database()
           and datcollversion <> pg_database_collation_actual_version(oid)) as stale_collation,
       (select pg_database_collation_actual_version(oid)
          from pg_database
         where datname = current_database()) as collation_version,
       array(select format('%I.%I', nspname, index.relname)
               from pg_index
               join pg_class as index on index.oid = indexrelid
               join pg_namespace as namespace on namespace.oid = index.relnamespace
              where nspname not in ('pg_catalog', 'pg_toast', 'information_schema')
                and (select oid from pg_collation where collname = 'default') = any (indcollation)
              order by 1) as collated_indexes,
       to_regclass('schema_migration') is not null as has_schema,
       to_regclass('jobs_migration') is not null as has_jobs,
       to_regclass('vectors_migration') is not null as has_vectors;
