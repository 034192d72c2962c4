-- Make jobs for queued calls that have none, the first that was accepted first: a queue of jobs can be emptied. No row
-- comes back when all have one.
select remember_later(lost.scope_id, lost.operation_id) as deferred
  from (select scope_id, operation_id
          from operation
         where parent_id is null
           and status = 'queued'
           and operation_id not in (
               select (job.args ->> 'operation_id')::bigint
                 from procrastinate.procrastinate_jobs job
                where job.task_name = 'remember'
                  and job.status in ('todo', 'doing'))
         order by now, operation_id) as lost;
