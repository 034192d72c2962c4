-- Remove the jobs of scopes. One that runs finds its scope gone, and its worker ends it.
delete from procrastinate.procrastinate_jobs
 where (args ->> 'scope_id')::bigint = any (%(scope_ids)s::bigint[])
   and status <> 'doing';
