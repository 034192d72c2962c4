-- The sessions that hold the locks for which a session waits. No row comes back if it waits for none.
select pid,
       coalesce(application_name, '') as application_name,
       coalesce(state, '') as state,
       coalesce(xact_start, backend_start) as since
  from pg_stat_activity
 where pid = any (pg_blocking_pids(%(pid)s));
