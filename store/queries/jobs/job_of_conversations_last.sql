-- Let the jobs that embed conversations of these scopes run after all others that wait.
update procrastinate.procrastinate_jobs as job
   set priority = -1
  from scope
 where scope.scope_id = any (%(scope_ids)s::bigint[])
   and scope.kind = 'conversations'
   and job.queueing_lock = %(task)s || ':' || scope.scope_id
   and job.status = 'todo';
