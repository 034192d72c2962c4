-- Whether a login that may make the two roles lacks one, or may not become it. It only reads.
select exists (
         select
           from unnest('{memex_agent,memex_admin}'::name[]) as wanted (name)
           left join pg_roles as role on role.rolname = wanted.name
          where role.oid is null
             or not pg_has_role(role.oid, case when current_setting('server_version_num')::integer >= 160000
                                               then 'set' else 'member' end)
       )
       and exists (
         select
           from pg_roles
          where rolname = current_user
            and (rolsuper or rolcreaterole)
       ) as missing;
