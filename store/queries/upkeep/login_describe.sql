-- What the login of this connection is, may become and owns, and where it is. There is always one row.
select session_user::text as login,
       (select oid from pg_database where datname = current_database()) as database,
       pg_postmaster_start_time() as started_at,
       me.rolsuper or me.rolbypassrls or me.rolcreaterole as is_privileged,
       exists (select
                 from pg_class
                where relowner = me.oid
                  and relnamespace = 'public'::regnamespace) as owns_tables,
       array(select other.rolname::text
               from pg_roles other
              where other.oid <> me.oid
                and other.rolname <> 'memex_agent'
                and pg_has_role(me.oid, other.oid, 'member')
              order by other.rolname) as other_roles,
       exists (select
                 from pg_roles agent
                where agent.rolname = 'memex_agent'
                  and pg_has_role(me.oid, agent.oid, 'member')) as is_agent,
       exists (select
                 from pg_roles agent
                where agent.rolname = 'memex_agent'
                  and pg_has_role(me.oid, agent.oid, 'usage')) as inherits,
       coalesce(has_function_privilege(
           me.oid,
           to_regprocedure('check_access(bigint,text,text,bigint,bytea,bigint,bytea,bigint[],bigint[])'),
           'execute'), false) as may_check
  from pg_roles me
 where me.rolname = session_user;
