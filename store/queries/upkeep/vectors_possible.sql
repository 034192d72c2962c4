-- Whether this login can have vectors here: the queue, and pgvector from 0.8 on, which is installed or which it may install.
select to_regclass('jobs_migration') is not null
       and exists (
             select
               from pg_available_extension_versions as offered
               left join pg_extension as installed on installed.extname = offered.name
              where offered.name = 'vector'
                and offered.version = coalesce(installed.extversion, (select default_version
                                                                        from pg_available_extensions
                                                                       where name = offered.name))
                and string_to_array(substring(offered.version from '^[0-9]+(?:\.[0-9]+)*'), '.')::integer[] >= '{0,8}'
                and (has_schema_privilege(installed.extnamespace, 'usage')
                     or current_setting('is_superuser') = 'on'
                     or offered.trusted and has_database_privilege(current_database(), 'create'))
           ) as possible;
