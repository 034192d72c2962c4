-- Let jobs of a kind that wait for another attempt begin at once.
update procrastinate.procrastinate_jobs
   set scheduled_at = null
 where task_name = %(task)s
   and status = 'todo'
   and scheduled_at > now();
