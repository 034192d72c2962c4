-- Make jobs for queued calls that have none: a queue of jobs can be emptied. No row comes back when all have one.
select remember_later(scope_id, operation_id) as deferred
  from operation
 where parent_id is null
   and status = 'queued'
   and operation_id not in (
       select (job.args ->> 'operation_id')::bigint
         from procrastinate.procrastinate_jobs job
        where job.task_name = 'remember'
          and job.status in ('todo', 'doing'));
