-- The transactions of this database that run now, but for this one. Those of sessions that are not Memex's are left out
-- where their name is visible.
select held.virtualtransaction as name
  from pg_locks held
  join pg_stat_activity session using (pid)
 where held.locktype = 'virtualxid'
   and held.granted
   and held.virtualxid = held.virtualtransaction
   and held.pid <> pg_backend_pid()
   and session.datname = current_database()
   and (session.application_name is null or session.application_name like 'memex%%' or session.application_name = '');
